// `holdfast login`

import { Failure } from "../../base/failure.ts";
import { writeTokenFile } from "../../client/token-file.ts";
import { TOKEN_NAMES, toldBy } from "../../client/environment.ts";
import { argument } from "../argument.ts";
import { command } from "../command.ts";
import { flag } from "../flag.ts";
import { checkToken } from "../token-check.ts";
import { UsageError } from "../usage-error.ts";

export const login = command({
  name: "login",
  summary: "Check a token and keep it for later commands",
  description:
    "Asks for the token without showing it, or reads it from standard input. The server is asked " +
    "whether it knows the token; then it is kept in ~/.holdfast-token, readable by you alone.",
  examples: ["holdfast login", "holdfast login - < token.txt"],
  flags: { noStore: flag.switch("Check the token only; keep nothing") },
  args: { from: argument.optional("- reads the token from standard input") },
  async run({ client, out, prompt, settings, fs }, { noStore, from }) {
    if (from !== undefined && from !== "-") {
      throw new UsageError(
        "a token is not taken from the command line: it would stay in the shell's history",
        "run `holdfast login` and type it, or `holdfast login -` with it on standard input",
      );
    }
    const token = from === "-" ? await prompt.piped("token") : await prompt.secret("Token");
    if (token === null || token.reveal() === "") throw new UsageError("no token was given");
    const { valid, by, name, expires } = await checkToken(client.withToken(token));
    if (valid === false) {
      throw new Failure("denied", "login-refused", "the server does not know this token");
    }
    if (valid === null) out.warn("the server has no endpoint that could tell whether it is valid");
    else out.hint(`The server knows this token (read ${by}).`);
    const stored = noStore ? null : settings.tokenFile;
    if (stored !== null) {
      writeTokenFile(fs, stored, token);
      const other = toldBy(settings.env, ...TOKEN_NAMES);
      if (other !== null) out.warn(`${other.from} is set and goes before the token just kept`);
    }
    await out.show(
      { valid, display_name: name, expire_time: expires, stored_in: stored },
      {
        text:
          stored === null
            ? "The token is good; it was not kept."
            : `Logged in. The token is kept in ${stored}; other commands use it from now on.`,
      },
    );
  },
});
