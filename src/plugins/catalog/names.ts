// Names of plugins and of their runtimes. A plugin has one spelling, which policies and storage see; where it is kept says
// nothing about the file that it is.

import * as failures from "./failures.ts";

const PLUGIN = /^[a-z0-9][a-z0-9_.-]{0,127}$/;
const RUNTIME = /^\w(?:[\w.-]{0,126}\w)?$/;

export function checkPluginName(name: string): void {
  if (name.includes("..")) throw failures.parentReference();
  if (!PLUGIN.test(name)) throw failures.nameInvalid();
}

export function isPluginName(name: string): boolean {
  return PLUGIN.test(name) && !name.includes("..");
}

export function checkRuntimeName(name: string): void {
  if (!isRuntimeName(name)) throw failures.runtimeNameInvalid();
}

export function isRuntimeName(name: string): boolean {
  return RUNTIME.test(name) && !name.includes("..");
}
