// The query protocol of IAM and STS: form bodies in, XML out, and the refusals in their shape. What an
// action does is not known here.

/** A refusal as the provider words it. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export function noSuchEntity(message: string): ApiError {
  return new ApiError(404, "NoSuchEntity", message);
}

export function alreadyExists(message: string): ApiError {
  return new ApiError(409, "EntityAlreadyExists", message);
}

export function limitExceeded(message: string): ApiError {
  return new ApiError(409, "LimitExceeded", message);
}

export function validationError(message: string): ApiError {
  return new ApiError(400, "ValidationError", message);
}

export function malformedPolicy(message: string): ApiError {
  return new ApiError(400, "MalformedPolicyDocument", message);
}

export type Xml = string | number | boolean | null | undefined | readonly Xml[] | XmlObject;

export interface XmlObject {
  readonly [name: string]: Xml;
}

/** The fields of a request. */
export class Params {
  readonly #fields: ReadonlyMap<string, string>;

  constructor(body: string) {
    const fields = new Map<string, string>();
    for (const [name, value] of new URLSearchParams(body)) {
      if (fields.has(name)) {
        throw new ApiError(400, "MalformedInput", `The field ${name} is given twice`);
      }
      fields.set(name, value);
    }
    this.#fields = fields;
  }

  /** An empty value counts as absent, as it does there. */
  optional(name: string): string | null {
    const value = this.#fields.get(name);
    return value === undefined || value === "" ? null : value;
  }

  required(name: string): string {
    const value = this.optional(name);
    if (value !== null) return value;
    const field = `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;
    throw validationError(
      `1 validation error detected: Value null at '${field}' failed to satisfy constraint: Member must not be null`,
    );
  }

  integer(name: string): number | null {
    const text = this.optional(name);
    if (text === null) return null;
    if (!/^-?\d{1,9}$/.test(text)) {
      throw new ApiError(400, "MalformedInput", `${name} is not an integer`);
    }
    return Number(text);
  }

  /** `Tags.member.1.Key` … as a list of objects; a plain member is the object's "". */
  list(name: string): readonly ReadonlyMap<string, string>[] {
    const prefix = `${name}.member.`;
    const items = new Map<number, Map<string, string>>();
    for (const [field, value] of this.#fields) {
      if (!field.startsWith(prefix)) continue;
      const [index = "", ...rest] = field.slice(prefix.length).split(".");
      if (!/^[1-9]\d{0,3}$/.test(index)) {
        throw new ApiError(400, "MalformedInput", `${field} is not a member of a list`);
      }
      const item = items.get(Number(index)) ?? new Map<string, string>();
      item.set(rest.join("."), value);
      items.set(Number(index), item);
    }
    return [...items].sort(([a], [b]) => a - b).map(([, item]) => item);
  }

  entries(): IterableIterator<[string, string]> {
    return this.#fields.entries();
  }
}

/** A moment as the provider writes it: whole seconds. */
export function dateText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

function escaped(text: string): string {
  const marks: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text.replaceAll(/[&<>"]/g, (mark) => marks[mark] ?? mark).replaceAll("\r", "&#xD;");
}

export function element(name: string, value: Xml): string {
  if (value === undefined || value === null) return "";
  return `<${name}>${content(value)}</${name}>`;
}

function content(value: Xml): string {
  if (value === undefined || value === null) return "";
  if (typeof value !== "object") return escaped(String(value));
  if (isList(value)) return value.map((item) => element("member", item)).join("");
  return Object.entries(value)
    .map(([name, member]) => element(name, member))
    .join("");
}

function isList(value: readonly Xml[] | XmlObject): value is readonly Xml[] {
  return Array.isArray(value);
}

const NAMESPACES = {
  iam: "https://iam.amazonaws.com/doc/2010-05-08/",
  sts: "https://sts.amazonaws.com/doc/2011-06-15/",
} as const;

export type Service = keyof typeof NAMESPACES;

export function answerXml(
  service: Service,
  action: string,
  result: XmlObject | null,
  requestId: string,
): string {
  const body = result === null ? "" : element(`${action}Result`, result);
  const metadata = element("ResponseMetadata", { RequestId: requestId });
  return `<${action}Response xmlns="${NAMESPACES[service]}">${body}${metadata}</${action}Response>\n`;
}

export function errorXml(service: Service, error: ApiError, requestId: string): string {
  const type = error.status < 500 ? "Sender" : "Receiver";
  const body = element("Error", { Type: type, Code: error.code, Message: error.message });
  const id = element("RequestId", requestId);
  return `<ErrorResponse xmlns="${NAMESPACES[service]}">${body}${id}</ErrorResponse>\n`;
}
