// What an engine knows that somebody should look at. The server tells it with everything else that needs
// attention; the engine says what it is and where, in one of these words.

export type ConcernKind =
  /** A credential that is rotated by itself could not be, again and again. */
  | "rotation-failed"
  /** It should have been rotated long ago. */
  | "rotation-overdue"
  /** Somebody cannot log in after too many failures. */
  | "origin-locked";

export interface Concern {
  readonly kind: ConcernKind;
  /** Path below the mount that shows what it is about; empty for the mount as a whole. */
  readonly place: string;
  readonly count: number;
}
