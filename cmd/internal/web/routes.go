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
		{"/artifacts", s.artifacts},
		{"/artifacts/{ref...}", s.artifact},
		{"/sessions", s.sessions},
		{"/sessions/{id}", s.session},
		{"/sessions/{id}/files/{path...}", s.fileOf},
		{"/channels", s.channels},
		{"/channels/{name}", s.channel},
		{"/search", s.search},
		{"/compare", s.compared},
		{"/graph", s.graph},
		{"/pipelines", s.pipelines},
		{"/pipelines/{issue...}", s.pipeline},
		{"/threads", s.threadList},
		{"/threads/{uri...}", s.thread},
		{"/files", s.changedFiles},
		{"/why", s.why},
		{"/cost", s.cost},
		{"/check", s.check},
	}
}
