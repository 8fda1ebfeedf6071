// A failure that was understood where it happened: what to do next comes with it.

import { Failure, type FailureKind } from "@holdfast/shared/failure";

/**
 * What the command line and its client refuse by themselves:
 * @code accessor-unknown No token has an accessor that begins so.
 * @remedy Look the accessor up with `holdfast acl token list`.
 * @code address-invalid The server's address cannot be read.
 * @remedy Write it like https://holdfast.example:8200.
 * @code answer-malformed An answer is not one that this version of the command line understands.
 * @remedy Check the address and that both sides have the same version.
 * @code accessor-short The token may not look for an accessor by its beginning.
 * @remedy Give the accessor whole.
 * @code ceremony-absent No such ceremony is running.
 * @remedy Start it again; it may have ended for want of shares.
 * @code environment-invalid A variable of the environment has a value that is not accepted.
 * @remedy Correct the variable that the text names.
 * @code field-absent The answer has no such field.
 * @remedy Use one of the fields that the text lists.
 * @code join-failed A cluster has not become a secondary, although its token was good.
 * @remedy Read the cause in the server's log; its data is as it was. Make another token, then try again.
 * @code kv-data-path A path of a versioned kv mount was read as if it had no versions.
 * @remedy Use `holdfast kv get`, or the path with data/ in it.
 * @code kv-deleted This version of the secret was deleted.
 * @remedy Bring it back with `holdfast kv undelete`.
 * @code kv-destroyed This version of the secret was destroyed and its data is gone.
 * @remedy Read another version, or write the secret anew.
 * @code kv-mount-absent No mount serves this path.
 * @remedy List the mounts with `holdfast secrets list`; check the namespace.
 * @code kv-mount-unseen The token may not see the mount at this path.
 * @remedy Ask for a policy with a rule on the path.
 * @code kv-variable A member of a secret cannot become an environment variable.
 * @remedy Follow the advice of the text: choose a name or another member.
 * @code kv-version-absent The secret has no version of this number.
 * @remedy See the versions with `holdfast kv metadata get`.
 * @code mount-absent Nothing is mounted at this path.
 * @remedy List the mounts; check the namespace.
 * @code mount-not-kv The mount at this path is not of type kv.
 * @remedy Use `holdfast read` and `holdfast write` for other types.
 * @code move-denied The token may not move a mount, here or in a namespace that it would come from or go to.
 * @remedy Allow update on sys/remount, and on the namespace's path in front of it.
 * @code move-failed A mount was not moved.
 * @remedy Read the cause in the text, then start the move again.
 * @code namespace-absent There is no such namespace.
 * @remedy List them with `holdfast namespace list`.
 * @code namespace-unsendable The namespace holds characters that cannot be sent.
 * @remedy Use printable ASCII without spaces.
 * @code no-usual-names The answer is not of a kind for which environment variables have usual
 *   names.
 * @remedy Map members to variables yourself with `-env`; see `holdfast exec -help`.
 * @code otp-mismatch The one-time password does not fit the encoded token.
 * @remedy Take both from the same ceremony.
 * @code path-segment A part of a path holds a slash or is not well-formed text.
 * @remedy Correct the name.
 * @code path-typed A path holds a question mark or a hash, or is empty.
 * @remedy Give parameters as name=value after the path.
 * @code redirected The server sends the request on to another address, which is not followed.
 * @remedy Point HOLDFAST_ADDR at the address that the text names, if it is yours.
 * @code restore-failed A snapshot was sent and verified, and could not be restored; the data is as it was.
 * @remedy Read the cause in the text and in the server's log.
 * @code server-uninitialised The server is not initialised, so there are no shares.
 * @remedy Run `holdfast operator init` once if it is new; if not, mount its disk.
 * @code single-node The server is a single node, so no other can take over.
 * @remedy Use `holdfast operator seal` to close it.
 * @code token-absent There is no token with this accessor.
 * @remedy List those there are with `holdfast acl token list`.
 * @code token-file-unsafe The file with the token can be read by others, or is no regular file.
 * @remedy Set its mode to 600, or log in again.
 * @code token-not-accepted The server does not accept the token given to log in with.
 * @remedy Check the token, the address and the namespace.
 * @code token-unsendable The token holds characters that no token has.
 * @remedy Check for spaces, line breaks and quotes around it.
 * @code user-file A file named on the command line cannot be used.
 * @remedy Read the reason in the text.
 * @code wait-over The server did not answer within the time to wait.
 * @remedy Look whether it runs; wait longer with `-timeout`.
 * @code wrapped-elsewhere The wrapped answer was made at another path than expected; it was not
 *   used up.
 * @remedy Ask whoever gave you the token; somebody may have exchanged it.
 */
export class AdvisedFailure extends Failure {
  readonly next: string;

  constructor(kind: FailureKind, code: string, message: string, next: string) {
    super(kind, code, message);
    this.name = "AdvisedFailure";
    this.next = next;
  }
}
