// What to do next where a plugin is what is in the way.

import type { ApiError } from "@holdfast/client/api-error";

const LAST_LINES = "its last lines are in the server's log, under plugin.NAME";

/** `namespace`: of the request; empty for root. Null where there is nothing to say that is special to them. */
export function onPluginRefusal({ code, message }: ApiError, namespace: string): string | null {
  switch (code) {
    case "mount_not_loaded":
      return onNotLoaded(message, namespace);
    case "plugin_not_started":
      return message.includes("exited") ? LAST_LINES : null;
    case "plugin_not_registered":
      return "`holdfast plugin list -detailed` shows what is registered, each version of it";
    default:
      return null;
  }
}

/** Whether that passes by itself the server knows: it says so of the mount. */
function onNotLoaded(message: string, namespace: string): string {
  const [, path = "PATH"] = /^mount "([^"]+)" is not loaded/.exec(message) ?? [];
  const place = [...namespace.split("/"), path].filter((part) => part !== "").join("/");
  return (
    `mend that, then \`holdfast plugin reload -mounts ${place}\`. \`holdfast attention\` names all mounts that are not loaded; ` +
    "what may pass by itself is tried again without that"
  );
}
