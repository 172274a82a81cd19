package all_test

import "github.com/agent-handoff/handoff/thread"

// homesWithLedger returns the threads of the homes in the directory of ledgers. Each
// answer of a ledger belongs to one thread.
func homesWithLedger() map[string][]recorded {
	return map[string][]recorded{
		"claude-2.1.332": claudeThreads(),
		"claude-2.1.332-fork-advisor": {
			{thread: "claude/6da5c449-d834-459d-85d7-e5938ba241e2", status: thread.Completed, answers: []int{1, 8},
				agents: []string{"a67883341c8a98a1d"}, calls: map[string]string{"toolu_01mx0d1iyl0001": ""}},
			{thread: "claude/6da5c449-d834-459d-85d7-e5938ba241e2/a67883341c8a98a1d", status: thread.Completed,
				answers: []int{5}},
		},
		"cline-3.0.65": {
			{thread: "cline/1795866738216_7mw30", status: thread.Completed, answers: []int{1, 5, 9, 13, 24, 28},
				agents: []string{"agent_1795866740909_fio6ic"}, noWrites: true,
				calls: map[string]string{"call_mx0cosqy0002": "", "call_mx0cou97000p": "failed"}},
			{thread: "cline/1795866738216_7mw30/agent_1795866740909_fio6ic", status: thread.Completed,
				answers: []int{17, 21}, noWrites: true, calls: map[string]string{"call_mx0cotsr000i": ""}},
			{thread: "cline/1795866750386_l28en", status: thread.Errored},
		},
		"codex-0.171.0":         codexThreads(),
		"codex-0.171.0-classic": codexClassic(),
		"copilot-1.0.102-compacted": {
			{thread: "copilot/ef8b24fe-5809-4b50-9270-03248558389f", status: thread.Completed,
				answers: []int{1, 5, 8, 11, 14}, calls: map[string]string{"toolu_01mx0cytpo0001": ""}},
		},
		"droid-0.225.2": {
			{thread: "droid/074a5e6e-96c2-4034-b9e4-e4320a1c10f0", status: thread.Completed, model: "custom:Fake-0",
				answers: []int{23, 31, 36, 42, 113, 119, 125},
				calls: map[string]string{"toolu_01mx0cc89j000n": "", "toolu_01mx0cc9g70010": "failed",
					"toolu_01mx0ccpov0035": "failed", "toolu_01mx0ccq6e003b": "failed"}},
		},
		"kilo-7.7.9": {
			{thread: "kilo/ses_dde07e5c2ffe7ptY1zpyHhNX4R", status: thread.Completed,
				answers: []int{216, 235, 248, 303, 311, 319, 328}, unrecorded: []int{333},
				agents: []string{"ses_dde071b36ffeuYohxA4YUkBXRp"},
				calls:  map[string]string{"toolu_01mx0cezlx0060": "0", "toolu_01mx0cffma008v": "2"}},
			{thread: "kilo/ses_dde07e5c2ffe7ptY1zpyHhNX4R/ses_dde071b36ffeuYohxA4YUkBXRp", status: thread.Completed,
				answers: []int{256, 272, 282, 292}, calls: map[string]string{"toolu_01mx0cfakr007u": "0"}},
		},
		"kimi-2.1.0": {
			{thread: "kimi/session_bd6f2884-879f-4323-804b-b5b77bb2727e", status: thread.Completed,
				answers: []int{49, 56, 62, 88, 92, 97, 103}, agents: []string{"agent-0"},
				calls: map[string]string{"toolu_01mx0c0dme001d": "", "toolu_01mx0c0hrq002p": "failed"}},
			{thread: "kimi/session_bd6f2884-879f-4323-804b-b5b77bb2727e/agent-0", status: thread.Completed,
				answers: []int{70, 74, 79, 84}, calls: map[string]string{"toolu_01mx0c0gdo0027": ""}},
		},
		"opencode-2-preview-1.18.18": {
			{thread: "opencode/ses_dde0bbe8effe6pHKlcd58bt5AB", status: thread.Errored, answers: []int{1, 5, 9, 13, 18, 21},
				calls: opencodeCalls()},
		},
		"opencode-2-preview-upgraded": {
			{thread: "opencode/ses_dde09766affeahazYqmorsiGlM", status: thread.Completed, answers: []int{4, 8, 34},
				unrecorded: []int{1}, calls: map[string]string{"toolu_01mx0cc7v90004": "0"}},
			{thread: "opencode/ses_dde08f301ffeJmsY1jXcrrRe05", status: thread.Errored,
				answers: []int{11, 15, 19, 23, 28, 31},
				calls: map[string]string{"toolu_01mx0ccu00000b": "", "toolu_01mx0ccwus000f": "0",
					"toolu_01mx0ccz8v000j": "3", "toolu_01mx0cd2wm000n": "failed", "toolu_01mx0cd2wm000o": "failed"}},
		},
		"opencode-2.0-fresh-DERIVED": {
			{thread: "opencode/ses_dde0bbe8effe6pHKlcd58bt5AB", status: thread.Errored, answers: []int{1, 5, 9, 13, 18, 21},
				calls: opencodeCalls()},
		},
		"pi-1.6.0": {
			{thread: "pi/01a221f7-5e52-76e0-b198-dc6ffd8c62ea", status: thread.Completed, answers: []int{1, 5, 8, 11, 14},
				calls: map[string]string{"toolu_01mx0cd1xi0001": "", "toolu_01mx0cd1xi0001/1": "",
					"toolu_01mx0cd1xi0001/2": "", "toolu_01mx0cd1xi0001/3": "failed"}},
		},
		"pi-1.6.0-subagent": {
			{thread: "pi/01a221e9-5a61-77f9-a103-8b9902c03082", status: thread.Completed,
				answers: []int{48, 56, 61, 125, 130, 135, 141}, agents: []string{"reviewer"},
				calls: map[string]string{"toolu_01mx0btl8c001c": "", "toolu_01mx0btzqc003r": ""}},
			{thread: "pi/01a221e9-5a61-77f9-a103-8b9902c03082/reviewer", status: thread.Completed,
				answers: []int{95, 106, 112, 119}, calls: map[string]string{"toolu_01mx0btxkm0034": ""}},
		},
		"qwen-0.24.4-side": {
			{thread: "qwen/e8bb3064-58e8-4378-95cb-88e20ff391d6", status: thread.Completed,
				answers: []int{1, 4, 7, 10, 13, 16, 19, 22}},
		},
	}
}

func claudeThreads() []recorded {
	const root = "claude/ce43f7d4-b8d2-4c96-a576-5436d97195e5"
	return []recorded{
		{thread: root, status: thread.Completed, answers: []int{2, 6, 10, 14, 41, 45, 49, 67, 71, 82},
			unrecorded: []int{75, 78}, // of /compact
			agents: []string{"a41166522af38e50c", "adcb0a868d974651a", "a1911a42b4d2dd1db", "a829571211b529a52",
				"a1c6e18897f4b3f09"},
			calls: map[string]string{"toolu_01mx0cee5p0002": "", "toolu_01mx0ceep20006": "",
				"toolu_01mx0ceerv000a": "0", "toolu_01mx0ceira001d": "0"}},
		{thread: root + "/a1911a42b4d2dd1db", status: thread.Completed, answers: []int{20, 28},
			calls: map[string]string{"toolu_01mx0cefji000k": "0"}},
		{thread: root + "/a41166522af38e50c", status: thread.Completed, answers: []int{24, 31},
			calls: map[string]string{"toolu_01mx0ceg6l000o": "0"}},
		{thread: root + "/adcb0a868d974651a", status: thread.Completed, answers: []int{34, 38},
			calls: map[string]string{"toolu_01mx0ceh4t000y": "0"}},
		{thread: root + "/a1c6e18897f4b3f09", status: thread.Completed, answers: []int{53, 61},
			calls: map[string]string{"toolu_01mx0cej4n001h": "0"}},
		{thread: root + "/a829571211b529a52", status: thread.Completed, answers: []int{57, 64},
			calls: map[string]string{"toolu_01mx0cejc3001l": "0"}},
		{thread: "claude/f8e6edd9-ea6d-469f-a1b1-60d3841922c5", status: thread.Completed, answers: []int{86}},
		{thread: "claude/a042fde5-f1a5-4609-a43b-1424f1d10a98", status: thread.Completed, answers: []int{90, 94},
			calls: map[string]string{"toolu_01mx0cf6vb002i": "failed"}},
		{thread: "claude/6bc673c5-fd03-45d3-b98a-12f611f15842", status: thread.Completed, answers: []int{98, 102},
			calls: map[string]string{"toolu_01mx0cf93d002q": "0"}},
	}
}

// codexThreads returns threads in code mode: the calls with IDs that begin with exec are
// those that its scripts made.
func codexThreads() []recorded {
	const root, sub = "codex/01a221f2-6348-7823-8fc9-f86b57217310", "01a221f2-70b3-76d2-a9a4-7627db358e7c"
	const review, reviewer = "codex/01a221f3-274c-7f72-8fb8-d661561f569c", "01a221f3-29a0-71d1-85b6-ae4ba5557750"
	return []recorded{
		{thread: root, status: thread.Completed, agents: []string{sub},
			answers: []int{1, 8, 14, 20, 26, 32, 38, 72, 78, 84, 88, 94, 98, 102, 106, 112},
			calls: map[string]string{
				"exec-d60f283f-f61a-41ce-8c29-0f2bc49d5861": "0",
				"exec-88176698-fbe3-4bb8-ba04-b181a69486c3": "",
				"exec-16ad7356-8047-4cf4-a037-b2c40ce164f2": "",
				"exec-fcf9b36b-9b76-4d2f-aeb1-36ed882d3a3b": "3",
				"exec-3a73b2bf-5f8b-4166-9244-2a5d855675a2": "0",
				"exec-7abceed9-673f-45dc-847a-5b65adc5f8c3": "",
				"exec-abb7669c-3071-4daa-9038-e21c324619a8": "0",
				"exec-6c8443f9-68f5-4186-b19a-77ff8178cd4f": "1",
				"exec-321ac3cb-e986-4219-ae6f-80335476e90d": "",
				"exec-3e23cb58-444c-4f5a-8174-3aaa071e0e41": "",
				"call_mx0c65de0029":                         "failed",
			}},
		{thread: root + "/" + sub, status: thread.Completed, answers: []int{44, 50, 56, 62, 68},
			calls: map[string]string{
				"exec-3ff54094-632f-42c8-9cea-0f81117240a3": "0",
				"exec-8be02dae-309f-4581-a0c0-3dc7bdc40384": "",
				"exec-96c35e86-957e-442a-8a99-df6f3939781a": "0",
				"exec-f2765e1d-34fe-4eb5-a5c0-96dd024d5494": "",
			}},
		{thread: "codex/01a221f3-0620-7fe2-bf46-cdad01c8cdd4", status: thread.Completed, answers: []int{116, 122},
			calls: map[string]string{"exec-a6339c6e-bd90-40b1-802e-c18228e62c43": ""}},
		{thread: review, status: thread.Completed, agents: []string{reviewer}},
		{thread: review + "/" + reviewer, status: thread.Completed, answers: []int{126}},
		{thread: "codex/01a221f3-489c-7541-82f4-46d1cdcf8c3b", status: thread.Completed, answers: []int{130, 136},
			calls: map[string]string{"exec-c15e7202-1d1c-481d-a691-948c633fd3c4": ""}},
	}
}

func codexClassic() []recorded {
	const root, sub = "codex/01a221e6-a753-7223-ae62-d68eb1601d08", "01a221e6-af8f-72f0-95a0-58984b292533"
	return []recorded{
		{thread: root, status: thread.Completed, answers: []int{11, 20, 26, 33, 65, 72, 78, 86}, agents: []string{sub},
			calls: map[string]string{"call_mx0bpk4s000f": "0", "call_mx0bplw40029": "0"}},
		{thread: root + "/" + sub, status: thread.Completed, answers: []int{40, 47, 53, 60},
			calls: map[string]string{"call_mx0bplbq001k": "0"}},
	}
}

func opencodeCalls() map[string]string {
	return map[string]string{"toolu_01mx0c8tpw0001": "", "toolu_01mx0c8w6y0005": "0", "toolu_01mx0c8y4j0009": "3",
		"toolu_01mx0c8zrw000d": "failed", "toolu_01mx0c8zrw000e": "failed"}
}
