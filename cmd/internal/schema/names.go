package schema

import (
	"reflect"
	"strings"
)

const module = "github.com/agent-handoff/handoff"

// names has the names of schemas that are not those of the types in Go, which can have
// the same name in several packages. docs/json.md has these names in words.
var names = map[string]string{
	".SessionClosed":          "RepeatedClose",
	".SessionWorkflow":        "Workflow",
	".Usage":                  "WorkUsage",
	"/transcript.Secret":      "Secret",
	"/trace.Node":             "WorkNode",
	"/session.ComparedDigest": "OutputContent",
	"/transcript.Snippet":     "ThreadSnippet",
	"/session.Thread":         "SessionThread",
	"/session.File":           "File",
	"/session.Other":          "OtherArtifact",
	"/session.Related":        "RelatedSession",
	"/transcript.Item":        "ThreadItem",
	"/trace.CommandResult":    "EvidenceResult",
	"/pipeline.StageResult":   "Stage",
	".Published":              "PublishedArtifact",
	".Record":                 "Fact",
	".Report":                 "CheckReport",
	".SessionAgent":           "Agent",

	"/cmd/internal/cli.Failure":           "Error",
	"/cmd/internal/cli.commandHelp":       "CommandHelp",
	"/cmd/internal/cli.errorAnswer":       "ErrorAnswer",
	"/cmd/internal/cli.flagHelp":          "FlagHelp",
	"/cmd/internal/cli.helpAnswer":        "Help",
	"/cmd/internal/find.reply":            "ThreadReply",
	"/cmd/internal/find.searchResult":     "SearchResult",
	"/cmd/internal/logs.droppedRecords":   "DroppedRecords",
	"/cmd/internal/program.build":         "Build",
	"/cmd/internal/program.doctorAnswer":  "Examination",
	"/cmd/internal/program.doctorFinding": "ExaminationFinding",
	"/cmd/internal/program.initAnswer":    "SetUp",
	"/cmd/internal/program.initFailure":   "SetUpFailure",
	"/cmd/internal/program.initFile":      "SetUpFile",
	"/cmd/internal/sessions.settingList":  "SettingList",
	"/cmd/internal/sessions.stopped":      "StoppedMoves",
	"/cmd/internal/setup.Status":          "ProgramStatus",
	"/cmd/internal/setup.Undone":          "UndoneFile",
	"/storage.UnneededBody":               "KeptBody",
	"/storage.LogCopy":                    "LogCopy",
	"/storage.QueuedRecord":               "QueuedRecord",
	"/storage.Refusal":                    "RefusedRecord",
	"/storage.RefusedRecord":              "DroppedRecord",
	"/storage.Sent":                       "LogSend",
	"/storage.Snippet":                    "Snippet",
	"/storage.AdoptedName":                "AdoptedName",
	"/pipeline.Drift":                     "Difference",
	"/pipeline.File":                      "PipelinePath",
	"/pipeline.Run":                       "StartedRun",
	"/pipeline.Gate":                      "Verdict",
	"/pipeline.Attempt":                   "Attempt",
	"/pipeline.Notes":                     "RunState",
	"/pipeline.Outdated":                  "OutdatedFile",
	"/pipeline.RunSummary":                "Run",
	"/pipeline.Finding":                   "GateFinding",
	"/pipeline.GateVerdict":               "VerdictOfAGate",
	"/session.Adoption":                   "SessionAdoption",
	"/session.Expected":                   "ExpectedOutput",
	"/session.Page":                       "SessionPage",
	"/session.View":                       "Session",
	"/session.ComparedInput":              "ComparedInput",
	"/session.ComparedOutput":             "ComparedOutput",
	"/session.ComparedSide":               "ComparedSession",
	"/session.Opened":                     "OpenedSession",
	"/session.Due":                        "DueSession",
	"/session.EmptiedTrash":               "EmptiedTrash",
	"/session.Move":                       "SessionMove",
	"/session.Summary":                    "SessionSummary",
	"/session.Transfer":                   "SessionTransfer",
	"/trace.ActiveSession":                "ActiveSession",
	"/workspace/news.Report":              "News",
	"/workspace/news.Done":                "DoneSession",
	"/workspace/news.Commit":              "Commit",
	"/workspace/news.Need":                "Need",
	"/workspace/places.Costs":             "CostOfPlaces",
	"/cmd/internal/work.placesNews":       "NewsOfPlaces",
	"/cmd/internal/work.placesStatus":     "StatusOfPlaces",
	"/cmd/internal/work.placeStatus":      "StatusOfAPlace",
	"/workspace/places.Spending":          "CostOfAPlace",
	"/cmd/internal/work.placeNews":        "NewsOfAPlace",
	"/trace.RunningThread":                "ActiveThread",
	"/trace.Usage":                        "CostUsage",
	"/trace.Receipt":                      "WorkReceipt",
	"/trace.CostRow":                      "CostRow",
	"/trace.Claim":                        "ClaimResult",
	"/trace.Verification":                 "Verification",
	"/trace.Evidence":                     "HopEvidence",
	"/trace.Origin":                       "Provenance",
	"/transcript.Write":                   "ActiveWrite",
	"/transcript.Copy":                    "KeptThread",
	"/transcript.Collisions":              "CollisionList",
	"/transcript.Match":                   "ThreadMatch",
	"/transcript.Page":                    "ThreadList",
	"/transcript.Matches":                 "Result",
	"/session.TransferManifest":           "Manifest",
	"/pipeline.Stage":                     "StageSummary",
	"/pipeline.List":                      "RunList",
	"/pipeline.GateResult":                "Result",
	"/settings.Entry":                     "Setting",
	"/pipeline.Changes":                   "Scope",
	"/thread.Agent":                       "Subagent",
	"/thread.State":                       "ThreadState",
	"/thread/page.Document":               "ThreadPage",
	"/thread/page.SubagentDocument":       "SubagentPage",
	"/workspace.Redacted":                 "RedactedArtifact",
	"/workspace.Revisions":                "ArtifactHistory",
	"/workspace/sessions.Adoptions":       "SessionAdoptionList",
	"/workspace/sessions.Change":          "SessionChange",
	"/workspace/sessions.Moves":           "SessionMoves",
	"/workspace/store.Garbage":            "UnneededBodies",
	"/workspace/threads.Kept":             "KeptThreadList",
	"/workspace/work.Change":              "WorkChange",
	"/workspace/work.RunReport":           "Receipt",
	"/workspace/work.Tree":                "WorkTree",
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
