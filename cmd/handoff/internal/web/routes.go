package web

// A route is a page: its pattern and what it shows.
type route struct {
	pattern string
	view    view
}

// routes are the pages. Each line is a deep link.
func (s *Server) routes() []route {
	return []route{
		{"/{$}", s.now},
		{"/artifacts/{ref...}", s.artifact},
		{"/sessions", s.sessions},
	}
}
