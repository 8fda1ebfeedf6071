// Every way filters refuse.

import { Failure } from "@holdfast/shared/failure";
import { Status, StatusError } from "@holdfast/shared/grpc/status";

/**
 * @code filter-path-unknown A filter names something that is neither a mount nor a namespace.
 * @remedy Name mounts and namespaces that exist, from the root namespace on: "kv/", "auth/people/", "team-a/kv/", "team-a/".
 */
export function filterPathUnknown(place: number): Failure {
  return new Failure(
    "invalid",
    "filter-path-unknown",
    `paths[${place}] is neither a shared mount nor a namespace: write them from root, "kv/", "auth/people/", "team-a/"`,
  );
}

/**
 * @code filter-path-below A filter names something below a mount.
 * @remedy Name the mount: filters withhold whole mounts and namespaces. What is to be withheld goes into a mount of its own.
 */
export function filterPathBelow(place: number): Failure {
  return new Failure(
    "invalid",
    "filter-path-below",
    `paths[${place}] lies below a mount: filters take whole mounts and namespaces alone`,
  );
}

/**
 * @code filter-path-local A filter names a mount that is local to this cluster.
 * @remedy Leave it out: what is local is sent to no secondary.
 */
export function filterPathLocal(place: number): Failure {
  return new Failure(
    "invalid",
    "filter-path-local",
    `paths[${place}] is local to this cluster, and sent to nobody anyway`,
  );
}

/**
 * @code filter-path-fixed A filter names a mount that every namespace has by itself.
 * @remedy Leave it out; to withhold a namespace as a whole, name the namespace.
 */
export function filterPathFixed(place: number): Failure {
  return new Failure(
    "invalid",
    "filter-path-fixed",
    `paths[${place}] is built in, and cannot be withheld: name mounts that were enabled, or namespaces`,
  );
}

/**
 * @code filter-too-many-paths A filter names too many paths.
 * @remedy Name namespaces instead of each of their mounts.
 */
export function tooManyPaths(max: number): Failure {
  return new Failure("invalid", "filter-too-many-paths", `a filter has at most ${max} paths`);
}

/**
 * @code filter-too-many There are too many filters.
 * @remedy Delete those of secondaries that are none any more.
 */
export function tooManyFilters(max: number): Failure {
  return new Failure("invalid", "filter-too-many", `there are at most ${max} filters`);
}

/**
 * @code filter-ambiguous The id of the set was named where there are several secondaries.
 * @remedy Name the secondary as in known_secondaries of the status, or by the id of its cluster.
 */
export function ambiguousFilter(): Failure {
  return new Failure(
    "invalid",
    "filter-ambiguous",
    "several secondaries go by this id: name one of them, by its own id or that of its cluster",
  );
}

/**
 * @code filter-for-nobody A filter was to be made by the id of the set while it has no secondary.
 * @remedy Name the secondary that is to come: by the id that its token will have, or by the id of its cluster.
 */
export function filterForNobody(): Failure {
  return new Failure(
    "invalid",
    "filter-for-nobody",
    "this is the id of the set, which has no secondary yet: name the one that is to come, by the id of its token or the id of its cluster (cluster_id of its sys/health)",
  );
}

/**
 * @code filter-id-invalid What a filter is for is no name that a secondary can have.
 * @remedy Use the id of its token, or the id of its cluster.
 */
export function filterIdInvalid(): Failure {
  return new Failure(
    "invalid",
    "filter-id-invalid",
    "no secondary can have this id: it is the one of its token, or of its cluster",
  );
}

/**
 * @code filter-none-to-copy A token was to have the filter of a secondary that has none.
 * @remedy Make the filter first, or leave out `copy_filter_from`.
 */
export function noFilterToCopy(): Failure {
  return new Failure(
    "invalid",
    "filter-none-to-copy",
    "copy_filter_from names nobody with a filter",
  );
}

/**
 * @code filter-unknown There is no such filter.
 * @remedy The id is that of the secondary's token, or of its cluster.
 */
export function filterUnknown(): Failure {
  return new Failure("not-found", "filter-unknown", "no secondary of this id has a filter");
}

/**
 * @code filter-unknown-secondary Nobody is known by this id.
 * @remedy known_secondaries of the status names them.
 */
export function filterSecondaryUnknown(): Failure {
  return new Failure("not-found", "filter-unknown-secondary", "no secondary is known by this id");
}

/**
 * @code filters-not-ready What filters speak of is being read.
 * @remedy Nothing needs to be done: it is tried again at once.
 */
export function filtersNotReady(): Failure {
  return new Failure("unavailable", "filters-not-ready", "filters are not ready yet; try again");
}

/**
 * @code filter-not-own A secondary was asked what is withheld from another one.
 * @remedy Ask the primary, or name this secondary: secondary_id of its status, or the id of its cluster.
 */
export function filterNotOwn(): Failure {
  return new Failure(
    "not-found",
    "filter-not-own",
    "this secondary goes by another id: secondary_id of its status",
  );
}

/** Of a call of a member: it asks what is withheld, and begins anew. */
export function otherWithheld(): StatusError {
  return new StatusError(Status.aborted, "something else is withheld from it by now");
}
