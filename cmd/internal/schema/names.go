package schema

import (
	"reflect"
	"strings"
)

const module = "github.com/agent-handoff/handoff"

// names has the names of schemas that are not those of the types in Go, which can have
// the same name in several packages. docs/json.md has these names in words.
var names = map[string]string{
	".SessionClosed":                           "RepeatedClose",
	".SessionWorkflow":                         "Workflow",
	".Usage":                                   "WorkUsage",
	"/internal/transcript/keep.Finding":        "Secret",
	"/internal/trace/cost.Node":                "WorkNode",
	"/internal/session/compare.Digest":         "OutputContent",
	"/internal/transcript/threadindex.Snippet": "ThreadSnippet",
	"/internal/session.Conversation":           "SessionThread",
	"/internal/session.Entry":                  "File",
	"/internal/session.Other":                  "OtherArtifact",
	"/internal/session.Related":                "RelatedSession",
	"/internal/transcript/threadindex.Item":    "ThreadItem",
	"/internal/trace/evidence.Result":          "EvidenceResult",
	"/internal/pipeline.StageView":             "Stage",
	".Published":                               "PublishedArtifact",
	".Record":                                  "Fact",
	".Report":                                  "CheckReport",
	".SessionAgent":                            "Agent",

	"/cmd/internal/cli.Failure":                   "Error",
	"/cmd/internal/cli.commandHelp":               "CommandHelp",
	"/cmd/internal/cli.errorAnswer":               "ErrorAnswer",
	"/cmd/internal/cli.flagHelp":                  "FlagHelp",
	"/cmd/internal/cli.helpAnswer":                "Help",
	"/cmd/internal/find.reply":                    "ThreadReply",
	"/cmd/internal/find.searchResult":             "SearchResult",
	"/cmd/internal/logs.droppedRecords":           "DroppedRecords",
	"/cmd/internal/program.build":                 "Build",
	"/cmd/internal/program.doctorAnswer":          "Examination",
	"/cmd/internal/program.doctorFinding":         "ExaminationFinding",
	"/cmd/internal/program.initAnswer":            "SetUp",
	"/cmd/internal/program.initFailure":           "SetUpFailure",
	"/cmd/internal/program.initFile":              "SetUpFile",
	"/cmd/internal/sessions.settingList":          "SettingList",
	"/cmd/internal/sessions.stopped":              "StoppedMoves",
	"/cmd/internal/setup.Status":                  "ProgramStatus",
	"/cmd/internal/setup.Undone":                  "UndoneFile",
	"/internal/log/content.UnneededBody":          "KeptBody",
	"/internal/log/logcopy.Result":                "LogCopy",
	"/internal/log/queue.Item":                    "QueuedRecord",
	"/internal/log/queue.Refusal":                 "RefusedRecord",
	"/internal/log/queue.RefusedRecord":           "DroppedRecord",
	"/internal/log/queue.Sent":                    "LogSend",
	"/internal/log/sqlindex.Pieces":               "Snippet",
	"/internal/names.Adopted":                     "AdoptedName",
	"/internal/pipeline.BriefText":                "Brief",
	"/internal/pipeline.Drift":                    "Difference",
	"/internal/pipeline.File":                     "PipelinePath",
	"/internal/pipeline.Started":                  "StartedRun",
	"/internal/pipeline.GateResult":               "Verdict",
	"/internal/pipeline.History":                  "AttemptList",
	"/internal/pipeline.HistoryEntry":             "Attempt",
	"/internal/pipeline.Notes":                    "RunState",
	"/internal/pipeline.Outdated":                 "OutdatedFile",
	"/internal/pipeline.RunSummary":               "Run",
	"/internal/pipeline.Trace":                    "Trace",
	"/internal/pipeline/gate.Finding":             "GateFinding",
	"/internal/pipeline/gate.Verdict":             "VerdictOfAGate",
	"/internal/pipeline/lessons.Match":            "LessonMatch",
	"/internal/session.Adoption":                  "SessionAdoption",
	"/internal/session.Expected":                  "ExpectedOutput",
	"/internal/session.Page":                      "SessionPage",
	"/internal/session.View":                      "Session",
	"/internal/session/compare.Input":             "ComparedInput",
	"/internal/session/compare.Output":            "ComparedOutput",
	"/internal/session/compare.Side":              "ComparedSession",
	"/internal/session/launch.Opened":             "OpenedSession",
	"/internal/session/relocate.Due":              "DueSession",
	"/internal/session/relocate.Emptied":          "EmptiedTrash",
	"/internal/session/relocate.Move":             "SessionMove",
	"/internal/session/relocate.Summary":          "SessionSummary",
	"/internal/session/transfer.Result":           "SessionTransfer",
	"/internal/trace/activity.Session":            "ActiveSession",
	"/workspace/news.Report":                      "News",
	"/workspace/news.Done":                        "DoneSession",
	"/workspace/news.Commit":                      "Commit",
	"/workspace/news.Need":                        "Need",
	"/cmd/internal/work.everywhere":               "NewsOfPlaces",
	"/cmd/internal/work.placeNews":                "NewsOfAPlace",
	"/internal/trace/activity.Thread":             "ActiveThread",
	"/internal/trace/cost.Amount":                 "CostUsage",
	"/internal/trace/cost.Passed":                 "ArtifactsInPrompts",
	"/internal/trace/cost.Receipt":                "WorkReceipt",
	"/internal/trace/cost.Row":                    "CostRow",
	"/internal/trace/evidence.Claim":              "ClaimResult",
	"/internal/trace/evidence.Report":             "Verification",
	"/internal/trace/provenance.Evidence":         "HopEvidence",
	"/internal/trace/provenance.Trace":            "Provenance",
	"/internal/transcript/collision.Write":        "ActiveWrite",
	"/internal/transcript/keep.Result":            "KeptThread",
	"/internal/transcript/threadindex.Collisions": "CollisionList",
	"/internal/transcript/threadindex.Match":      "ThreadMatch",
	"/internal/transcript/threadindex.Page":       "ThreadList",
	"/thread.Agent":                               "Subagent",
	"/thread.State":                               "ThreadState",
	"/thread/page.Document":                       "ThreadPage",
	"/thread/page.SubagentDocument":               "SubagentPage",
	"/workspace.Redacted":                         "RedactedArtifact",
	"/workspace.Revisions":                        "ArtifactHistory",
	"/workspace/sessions.Adoptions":               "SessionAdoptionList",
	"/workspace/sessions.Change":                  "SessionChange",
	"/workspace/sessions.Moves":                   "SessionMoves",
	"/workspace/store.Garbage":                    "UnneededBodies",
	"/workspace/threads.Kept":                     "KeptThreadList",
	"/workspace/work.Change":                      "WorkChange",
	"/workspace/work.RunReport":                   "Receipt",
	"/workspace/work.Tree":                        "WorkTree",
}

// Name returns the name of the schema of a value.
func Name(value any) string {
	if named, ok := value.(interface{ JSONName() string }); ok {
		return named.JSONName()
	}
	t := reflect.TypeOf(value)
	name, ok := names[strings.TrimPrefix(t.PkgPath(), module)+"."+t.Name()]
	if !ok {
		name, _, _ = strings.Cut(t.Name(), "[")
	}
	return name
}
