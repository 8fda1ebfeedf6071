// Every way in which an image is not run.

import { Failure } from "@holdfast/shared/failure";

/**
 * @code plugin-image-missing There is no such image of a plugin.
 * @remedy Put it below `images` in the plugin directory: `skopeo copy docker://NAME:TAG oci:DIRECTORY/images/NAME`.
 */
export function imageMissing(image: string, where: string): Failure {
  return new Failure(
    "upstream",
    "plugin-image-missing",
    `plugin image ${image} is not there: expected an OCI layout at ${where}, as a folder or with .tar behind it`,
  );
}

/**
 * @code plugin-image-other The image of a plugin is another one than what is registered.
 * @remedy Put the registered image back, or register the new one with the digest of its configuration.
 */
export function imageOther(image: string, registered: string, found: readonly string[]): Failure {
  const holds = found.length === 0 ? "no image" : found.join(", ");
  return new Failure(
    "upstream",
    "plugin-image-other",
    `checksums did not match: plugin image ${image} holds ${holds}, and sha256:${registered} is registered`,
  );
}

/**
 * @code plugin-image-refused The image of a plugin is damaged, has something in it that is not unpacked, or is too large.
 * @remedy The text says what it is. Make the image again, and copy it with a tool that checks it (skopeo).
 */
export function imageRefused(why: string, options?: ErrorOptions): Failure {
  return new Failure("upstream", "plugin-image-refused", why, options);
}
