// Reads what a bare connection brings, see bare-link.ts, and does nothing with it.

import { connect } from "node:http2";

const session = connect(`https://127.0.0.1:${process.argv[2]}`, {
  rejectUnauthorized: false, // a measurement: nothing goes this way that anybody must not read
  settings: { initialWindowSize: 8 * 1024 * 1024 },
});
session.on("connect", () => session.setLocalWindowSize(8 * 1024 * 1024));
session.request({ ":method": "POST", ":path": "/" }, { endStream: false }).resume();
process.once("disconnect", () => process.exit(0));
