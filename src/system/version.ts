// Which version runs. A test holds it equal to package.json.

export const VERSION = "0.1.0";
/** Empty when run from a checkout. */
export const BUILD_DATE = "";
