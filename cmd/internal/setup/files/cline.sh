#!/bin/sh
# Written by agent-handoff init: tells handoff about an event of Cline.
program="@HANDOFF@"
"$program" hook cline 2>/dev/null || :
