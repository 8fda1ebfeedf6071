// What was configured cannot be used, and why.

import { databaseRefusal } from "@holdfast/plugin-sdk/database";

export const refuse = (words: string) => databaseRefusal("refused", words);
