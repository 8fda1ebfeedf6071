// What a primary says last to one that it never sends anything again.

/** To a secondary that was revoked. */
export const REVOKED = "revoked";
/** To all: it goes on without them. */
export const DISABLED = "replication is disabled";
