// How much an image may be. What goes beyond is refused, and nothing of it is left.

export interface ImageLimits {
  /** Of all layers together, unpacked. */
  readonly bytes: number;
  readonly entries: number;
  /** Of all names together. */
  readonly nameBytes: number;
  readonly layers: number;
  /** Of an index, a manifest or a configuration. */
  readonly document: number;
  readonly manifests: number;
  /** A layer may be so many times as large as it is packed, and `slack` bytes besides. */
  readonly ratio: number;
  readonly slack: number;
  /** Stay free on the disk. */
  readonly reserve: number;
}

export const IMAGE_LIMITS: ImageLimits = {
  bytes: 4 * 2 ** 30,
  entries: 200_000,
  nameBytes: 32 * 2 ** 20,
  layers: 128,
  document: 4 * 2 ** 20,
  manifests: 64,
  ratio: 100,
  slack: 64 * 2 ** 20,
  reserve: 256 * 2 ** 20,
};
