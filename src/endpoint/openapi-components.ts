// The parts of the OpenAPI document that all operations share: envelope, refusals, ways to send a token.

import type { JsonObject } from "@holdfast/shared/json/json";

function failing(description: string): JsonObject {
  const schema = { $ref: "#/components/schemas/Errors" };
  return { description, content: { "application/json": { schema } } };
}

export const COMPONENTS: JsonObject = {
  schemas: {
    Envelope: {
      type: "object",
      required: ["request_id"],
      properties: {
        request_id: { type: "string", format: "uuid" },
        lease_id: { type: "string" },
        renewable: { type: "boolean" },
        lease_duration: { type: "integer", description: "Seconds" },
        data: { description: "What was asked for", nullable: true, type: "object" },
        wrap_info: { type: "object", nullable: true },
        warnings: { type: "array", items: { type: "string" }, nullable: true },
        auth: { type: "object", nullable: true },
        mount_type: { type: "string" },
      },
    },
    Errors: {
      type: "object",
      required: ["errors"],
      properties: { errors: { type: "array", items: { type: "string" } } },
    },
  },
  responses: {
    Denied: failing("No token, none that is valid, or one that may not do this"),
    NotFound: failing("Not there, or an empty list"),
    RateLimited: failing("Too many requests; Retry-After says when to come back"),
    Unavailable: failing("Sealed, not initialised, or not able to answer now"),
    Error: failing("The request was refused or failed"),
  },
  securitySchemes: {
    token: { type: "apiKey", in: "header", name: "X-Service-Token" },
    bearer: { type: "http", scheme: "bearer" },
  },
};
