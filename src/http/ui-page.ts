// The page at /ui/: what state the server is in, and nothing more. Script and style are files of their
// own, because the policy for content (browser/) allows nothing inline.

export interface PageFile {
  readonly contentType: string;
  readonly text: string;
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Holdfast</title>
<link rel="stylesheet" href="/ui/style.css">
<script src="/ui/page.js" defer></script>
</head>
<body>
<main>
<h1>Holdfast</h1>
<p id="state" role="status">Asking the server …</p>
<dl id="facts"></dl>
<noscript><p>This page needs JavaScript. The same is told by <code>holdfast status</code>.</p></noscript>
</main>
</body>
</html>
`;

const STYLE = `:root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 36rem; margin: 4rem auto; padding: 0 1rem; }
#state { font-size: 1.25rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; }
dt { opacity: .7; }
dd { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
`;

const SCRIPT = `"use strict";
const state = document.getElementById("state");
const facts = document.getElementById("facts");

async function ask(path) {
  const answer = await fetch(path, { headers: { "X-Service-Request": "true" } });
  return answer.json();
}

function show(rows) {
  facts.replaceChildren(
    ...rows.flatMap(([name, value]) => {
      const term = document.createElement("dt");
      const text = document.createElement("dd");
      term.textContent = name;
      text.textContent = String(value);
      return [term, text];
    }),
  );
}

async function refresh() {
  try {
    const [health, seal] = await Promise.all([ask("/v1/sys/health"), ask("/v1/sys/seal-status")]);
    state.textContent = !health.initialized
      ? "Not initialised: run holdfast operator init if it is new; if not, mount its disk"
      : seal.sealed
        ? "Sealed: " + seal.progress + " of " + seal.t + " key shares given"
        : health.standby ? "Unsealed, standing by" : "Unsealed and ready";
    show([
      ["Version", health.version],
      ["Cluster", health.cluster_name || "–"],
      ["Key shares", seal.n + ", of which " + seal.t + " unseal"],
      ["Index", health.last_wal],
    ]);
  } catch {
    state.textContent = "The server does not answer";
  }
}

refresh();
setInterval(refresh, 5000);
`;

/** By what follows /ui/. */
export const PAGE_FILES: ReadonlyMap<string, PageFile> = new Map([
  ["", { contentType: "text/html; charset=utf-8", text: PAGE }],
  ["style.css", { contentType: "text/css; charset=utf-8", text: STYLE }],
  ["page.js", { contentType: "text/javascript; charset=utf-8", text: SCRIPT }],
]);
