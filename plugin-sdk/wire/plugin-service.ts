// What only plugins of our SDK answer: what they declare, as data, and the parts of an EngineType for which the wire of
// others has no word. `pb.Backend` carries the requests themselves.

import {
  flag,
  int64,
  list,
  mapOf,
  maybe,
  message,
  type MessageOf,
  part,
  text,
  uint32,
} from "@holdfast/shared/grpc/message";
import { method } from "@holdfast/shared/grpc/method";
import { handleRequestArgs, request } from "./backend-messages.ts";
import { nothing } from "./known-types.ts";
import { LARGE, MANY } from "./limits.ts";
import { wireFailure } from "./own-failure.ts";

const texts = (number: number) => list(text(number), MANY);
const textMap = (number: number) => mapOf(number, text(2), MANY);

/** As `Field` has it, without its functions. What it reads and refuses is decided in the plugin. */
const describedField = message({
  key: text(1),
  source: text(2), // path, query, body, param or whole
  name: text(3),
  help: text(4),
  secret: flag(5),
  required: flag(6),
  schema: text(7), // JSON
  aliases: texts(8),
  deprecation: text(9),
  called: text(10),
  folds: text(11), // case, place, or empty
  clears: flag(12),
  /** Whoever reads it pays no regard to case. */
  caseless: flag(13),
  pairs: flag(14),
  /** Several spellings are read as one value. */
  hasOwnForm: flag(15),
  members: text(16), // JSON of a list of {name, aliases, members}; empty: whatever the caller likes
  /** JSON of how that value is found, as field-form.ts has it; empty: by rules that only the plugin has. */
  form: text(17),
});
export type DescribedField = MessageOf<typeof describedField>;

/** As `Endpoint` has it, without its functions. */
const describedEndpoint = message({
  name: text(1),
  method: text(2),
  path: text(3),
  summary: text(4),
  description: text(5),
  access: text(6), // open, open-with-caller, token, management, capability or sudo
  /** shared, local or mount; "looks": it depends on the request, and Belongs says it; empty: a plain read. */
  belongs: text(7),
  login: flag(8),
  issues: flag(9),
  whileDisabling: flag(10),
  fromSnapshot: flag(11),
  /** HandleExistenceCheck answers for it. */
  looksWhetherItExists: flag(12),
  later: flag(13),
  anyStatus: flag(14),
  slashFalls: flag(15),
  folderText: text(16),
  tellsExpiry: flag(17),
  runs: text(18), // here, anywhere or active
  family: text(19), // enveloped, bare or acl
  bodyMissing: text(20),
  bodyUnreadable: text(21),
  head: flag(22),
  fields: list(part(23, describedField), MANY),
  output: text(24), // JSON of a schema
  /** It answers with a token that was made, and with nothing else. */
  answersInAuth: flag(25),
  /** Recovers answers for it. */
  recovers: flag(26),
});
export type DescribedEndpoint = MessageOf<typeof describedEndpoint>;

const describedSecret = message({ name: text(1), renews: flag(2), hasReceipt: flag(3) });

const description = message({
  /** The options were refused; then there is nothing else. */
  failure: part(1, wireFailure),
  type: text(2),
  kind: text(3),
  version: text(4),
  summary: text(5),
  options: textMap(6), // as they are kept, defaults filled in
  endpoints: list(part(7, describedEndpoint), MANY),
  secrets: list(part(8, describedSecret), MANY),
  metrics: text(9), // JSON of MetricDeclarations
  undoes: texts(10), // kinds of write-ahead records
  minUndoAge: maybe(int64(11)),
  jobDeadline: maybe(int64(12)),
  /** Which of the methods below do anything. */
  does: texts(13),
  sdk: uint32(16), // of this service
});
export type Description = MessageOf<typeof description>;

export const SDK_VERSION = 1;

const outcome = message({ failure: part(1, wireFailure) });

const loginRenewal = message({
  ttl: maybe(int64(1)),
  maxTtl: maybe(int64(2)),
  period: maybe(int64(3)),
  owner: part(4, message({ metadata: textMap(1) })),
});

/** Describe and CanChangeOptions are of the process; all others of one instance, and only when it is set up. */
export const pluginService = {
  describe: method(
    "unary",
    "/holdfast.Plugin/Describe",
    message({ options: textMap(1), local: flag(2) }),
    description,
    LARGE,
  ),
  /** Both as they were given. */
  canChangeOptions: method(
    "unary",
    "/holdfast.Plugin/CanChangeOptions",
    message({ before: textMap(1), after: textMap(2), local: flag(3) }),
    message({ refusal: maybe(text(1)), failure: part(2, wireFailure) }),
  ),
  /** Where what a request writes belongs. */
  belongs: method(
    "unary",
    "/holdfast.Plugin/Belongs",
    handleRequestArgs,
    message({ failure: part(1, wireFailure), belongs: text(2) }),
    LARGE,
  ),
  /** The body that writes again what the path held in a loaded snapshot; none where that was nothing. `heldId`: of a service of the host,
   *  as that of a mount is, over what the mount had stored. */
  recovers: method(
    "unary",
    "/holdfast.Plugin/Recovers",
    message({ request: part(1, request), heldId: uint32(2) }),
    message({ failure: part(1, wireFailure), body: maybe(text(2)) }), // JSON
    LARGE,
  ),
  /** Success: the host removes the record. */
  undo: method(
    "unary",
    "/holdfast.Plugin/Undo",
    message({ id: text(1), kind: text(2), data: text(3), created: int64(4) }),
    outcome,
    LARGE,
  ),
  periodic: method("unary", "/holdfast.Plugin/Periodic", nothing, outcome),
  leave: method("unary", "/holdfast.Plugin/Leave", nothing, outcome),
  lead: method("unary", "/holdfast.Plugin/Lead", message({ tookOverAt: maybe(int64(1)) }), outcome),
  rest: method("unary", "/holdfast.Plugin/Rest", nothing, outcome),
  /** What holds from now on: nothing where it knows them no more. */
  renewLogin: method(
    "unary",
    "/holdfast.Plugin/RenewLogin",
    message({
      owner: textMap(1),
      increment: maybe(int64(2)),
      issued: int64(3),
      policies: texts(4),
    }),
    message({ failure: part(1, wireFailure), renewal: part(2, loginRenewal) }),
  ),
  abandoned: method(
    "unary",
    "/holdfast.Plugin/Abandoned",
    nothing,
    message({ failure: part(1, wireFailure), text: maybe(text(2)) }),
  ),
  concerns: method(
    "unary",
    "/holdfast.Plugin/Concerns",
    nothing,
    message({
      concerns: list(part(1, message({ kind: text(1), place: text(2), count: uint32(3) })), MANY),
    }),
  ),
  takeUse: method(
    "unary",
    "/holdfast.Plugin/TakeUse",
    message({ what: text(1) }),
    message({ failure: part(1, wireFailure), taken: flag(2) }),
  ),
} as const;

/** Words of `does`. */
export type Doing =
  | "undo"
  | "periodic"
  | "leave"
  | "lead"
  | "rest"
  | "renewLogin"
  | "abandoned"
  | "concerns"
  | "takeUse";
