import assert from "node:assert/strict";
import test from "node:test";
import { errorIn, rootOf } from "./answer-xml.ts";

const GOOD = `<?xml version="1.0" encoding="UTF-8"?>
<GetUserResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">
  <GetUserResult><User><Path>/</Path><Tags/><UserName>a &amp; b</UserName></User></GetUserResult>
  <ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata>
</GetUserResponse>`;

test("the outermost element of an answer is told, with and without a declaration", () => {
  assert.equal(rootOf(GOOD), "GetUserResponse");
  assert.equal(rootOf(GOOD.slice(GOOD.indexOf("<GetUser"))), "GetUserResponse");
  assert.equal(rootOf("<A/>"), "A");
});

test("T-I15: whatever is no plain element of a few levels is refused", () => {
  const bombs = [
    "",
    "no xml",
    '<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>',
    '<?xml version="1.0"?><!DOCTYPE x><x></x>',
    "<x><![CDATA[<y>]]></x>",
    "<x><!-- hidden --></x>",
    "<x><?php x?></x>",
    "<__proto__><a/></__proto__>",
    "<x><__proto__>1</__proto__></x>",
    `<x ${'a="b" '.repeat(1000)}></x>`,
    `${"<a>".repeat(100_000)}${"</a>".repeat(100_000)}`,
    "<x></x><y></y>",
    "<x></x></x>",
    "<x><y></x>".repeat(2),
    "<x",
    "<x><y></y>",
  ];
  for (const bomb of bombs) assert.equal(rootOf(bomb), null, bomb.slice(0, 60));
});

test("an error is told by its code, message and request id, and by nothing where it is no XML", () => {
  const text =
    "<ErrorResponse><Error><Type>Sender</Type><Code>NoSuchEntity</Code>" +
    "<Message>The user &lt;x&gt; &amp; y</Message></Error><RequestId>r-2</RequestId></ErrorResponse>";
  assert.deepEqual(errorIn(text), {
    code: "NoSuchEntity",
    message: "The user <x> & y",
    requestId: "r-2",
  });
  const nothing = { code: "", message: "", requestId: "" };
  assert.deepEqual(errorIn("<html><!-- x --><Code>Forged</Code></html>"), nothing);
  assert.deepEqual(errorIn("plain"), nothing);
});
