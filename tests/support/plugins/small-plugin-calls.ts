// What the small plugin of tests is asked, by both sides.

import { message, text } from "@holdfast/shared/grpc/message";
import { method } from "@holdfast/shared/grpc/method";

export const ask = method(
  "unary",
  "/test.Small/Ask",
  message({ what: text(1), text: text(2) }),
  message({ text: text(1) }),
);
