// Where a bucket is called: its own host below the endpoint, or a path of it.

import { isIP } from "node:net";
import type { StreamingOutbound } from "@holdfast/plugin-sdk/outbound";
import { endpointContradicts } from "../targets/failures.ts";
import type { CloudASettings } from "../targets/settings.ts";
import { strictlyEncoded } from "./sigv4.ts";

export interface BucketUrl {
  /** Of an object; of the bucket itself with an empty key. */
  of(key: string, query?: string): URL;
  /** As status shows it, whatever the style. */
  visible(key: string): string;
  readonly plain: boolean;
}

/** Throws a Failure that names the field. */
export function bucketUrl(
  settings: CloudASettings,
  outbound: Pick<StreamingOutbound, "endpoint">,
): BucketUrl {
  const { bucket, disableTls, forcePathStyle } = settings;
  const base = endpointOf(settings, outbound);
  // A certificate of *.endpoint covers no bucket with a dot, and no address has names below it.
  const ownHost =
    !forcePathStyle && isIP(base.hostname.replace(/^\[|\]$/g, "")) === 0 && !bucket.includes(".");
  const host = ownHost ? `${bucket}.${base.host}` : base.host;
  const folder = base.pathname.replace(/\/+$/, "") + (ownHost ? "" : `/${bucket}`);
  const encoded = (key: string) => key.split("/").map(strictlyEncoded).join("/");
  return {
    plain: disableTls,
    of: (key, query = "") => {
      const search = query === "" ? "" : `?${query}`;
      return new URL(`${base.protocol}//${host}${folder}/${encoded(key)}${search}`);
    },
    visible: (key) => {
      const path = base.pathname.replace(/\/+$/, "");
      return `${base.protocol}//${base.host}${path}/${bucket}/${encoded(key)}`;
    },
  };
}

function endpointOf(
  { endpoint, region, disableTls }: CloudASettings,
  outbound: Pick<StreamingOutbound, "endpoint">,
): URL {
  const scheme = disableTls ? "http" : "https";
  const field = "clouda_store_endpoint";
  if (endpoint === "") {
    const domain = region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
    return new URL(`${scheme}://s3.${region}.${domain}`);
  }
  const hasScheme = /^[a-z]+:\/\//i.test(endpoint);
  const url = outbound.endpoint(field, hasScheme ? endpoint : `${scheme}://${endpoint}`, {
    plain: disableTls,
  });
  if (url.protocol !== `${scheme}:`) throw endpointContradicts(field, "clouda_store_disable_tls");
  return url;
}
