package preview

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// The parts of GitHub Flavored Markdown 0.29 beyond CommonMark: tables and
// strikethrough here, tasks and addresses where they are written. They are not
// taken from the library's package of extensions, whose initializers would cost
// every start of handoff 0.6 ms.

var (
	kindTable     = ast.NewNodeKind("Table")
	kindTableHead = ast.NewNodeKind("TableHead")
	kindTableBody = ast.NewNodeKind("TableBody")
	kindTableRow  = ast.NewNodeKind("TableRow")
	kindCell      = ast.NewNodeKind("TableCell")
	kindStrike    = ast.NewNodeKind("Strikethrough")
)

// newParser returns a parser of Markdown.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(), util.Prioritized(strikes{}, 500))...),
		parser.WithParagraphTransformers(append(parser.DefaultParagraphTransformers(), util.Prioritized(tables{}, 200))...))
}

// A part is a block of a table without content of its own.
type part struct {
	ast.BaseBlock
	kind ast.NodeKind
}

func (p *part) Kind() ast.NodeKind            { return p.kind }
func (p *part) Dump(source []byte, level int) { ast.DumpHelper(p, source, level, nil, nil) }

type table struct{ part }

// A cell is a cell of a table.
type cell struct {
	part
	tag   string
	align string // left, center, right or ""
}

func (c *cell) class() string {
	if c.align == "" {
		return ""
	}
	return ` class="` + c.align + `"`
}

func inTable(n ast.Node) bool {
	for ; n != nil; n = n.Parent() {
		if n.Kind() == kindCell {
			return true
		}
	}
	return false
}

// tables turns a paragraph whose second line separates columns into a table.
type tables struct{}

func (tables) Transform(n *ast.Paragraph, r text.Reader, _ parser.Context) {
	if n.Lines().Len() < 2 {
		return
	}
	columns := alignments(n.Lines().At(1), r.Source())
	head := cells(n.Lines().At(0), r.Source())
	if columns == nil || len(head) != len(columns) || len(columns) > maxColumns {
		return
	}
	t := &table{part{kind: kindTable}}
	section := &part{kind: kindTableHead}
	section.AppendChild(section, row(head, columns, "th"))
	t.AppendChild(t, section)
	if n.Lines().Len() > 2 {
		section = &part{kind: kindTableBody}
		t.AppendChild(t, section)
	}
	for i := 2; i < n.Lines().Len(); i++ {
		section.AppendChild(section, row(cells(n.Lines().At(i), r.Source()), columns, "td"))
	}
	n.Parent().ReplaceChild(n.Parent(), n, t)
}

// row returns a row with a cell for each column.
func row(segments []text.Segment, columns []string, tag string) ast.Node {
	n := &part{kind: kindTableRow}
	for i, align := range columns {
		c := &cell{part: part{kind: kindCell}, tag: tag, align: align}
		if i < len(segments) && !segments[i].IsEmpty() {
			c.Lines().Append(segments[i])
		}
		n.AppendChild(n, c)
	}
	return n
}

// cells returns the cells of a line.
func cells(line text.Segment, source []byte) (list []text.Segment) {
	line = line.TrimLeftSpace(source)
	line = line.TrimRightSpace(source)
	value := line.Value(source)
	start := 0
	if bytes.HasPrefix(value, []byte("|")) {
		start = 1
	}
	for i := start; i <= len(value); i++ {
		if i < len(value) && (value[i] != '|' || i > 0 && value[i-1] == '\\') {
			continue
		}
		if i == len(value) && i == start && start > 0 {
			break // the line ended with a separator
		}
		c := text.NewSegment(line.Start+start, line.Start+i)
		c = c.TrimLeftSpace(source)
		list = append(list, c.TrimRightSpace(source))
		start = i + 1
	}
	return list
}

// alignments returns the alignment of each column if a line separates the head of
// a table from its body, else nil.
func alignments(line text.Segment, source []byte) (columns []string) {
	for _, c := range cells(line, source) {
		mark := string(c.Value(source))
		dashes := strings.TrimSuffix(strings.TrimPrefix(mark, ":"), ":")
		if dashes == "" || strings.Trim(dashes, "-") != "" {
			return nil
		}
		left, right := mark[0] == ':', mark[len(mark)-1] == ':'
		columns = append(columns, map[[2]bool]string{{true, false}: "left", {true, true}: "center",
			{false, true}: "right"}[[2]bool{left, right}])
	}
	if len(columns) == 1 && !bytes.ContainsRune(line.Value(source), '|') {
		return nil // the underline of a heading
	}
	return columns
}

// A strike is text that is crossed out.
type strike struct{ ast.BaseInline }

func (*strike) Kind() ast.NodeKind              { return kindStrike }
func (s *strike) Dump(source []byte, level int) { ast.DumpHelper(s, source, level, nil, nil) }

// strikes parses ~text~ and ~~text~~.
type strikes struct{}

func (strikes) Trigger() []byte         { return []byte{'~'} }
func (strikes) IsDelimiter(b byte) bool { return b == '~' }
func (strikes) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char && opener.OriginalLength == closer.OriginalLength
}
func (strikes) OnMatch(int) ast.Node { return new(strike) }

func (s strikes) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	d := parser.ScanDelimiter(line, before, 1, s)
	if d == nil || d.OriginalLength > 2 || before == '~' {
		return nil
	}
	d.Segment = segment.WithStop(segment.Start + d.OriginalLength)
	block.Advance(d.OriginalLength)
	pc.PushDelimiter(d)
	return d
}
