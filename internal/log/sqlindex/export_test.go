package sqlindex

// SetPortion sets how many artifacts are loaded before what their views need is.
func SetPortion(n int) { portion = n }
