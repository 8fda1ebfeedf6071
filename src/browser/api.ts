// The endpoints of browser settings: CORS, and the headers of the console.

import { fold } from "@holdfast/shared/text/fold";
import { access } from "@holdfast/shared/endpoint/access";
import { endpointsOf } from "@holdfast/shared/endpoint/endpoint";
import { out } from "@holdfast/shared/endpoint/output";
import { wire } from "@holdfast/shared/endpoint/wire";
import type { Browser } from "./browser.ts";

const endpoint = endpointsOf<Browser>();

const name = wire
  .path("name", { folds: "case" })
  .string("Name of the header; upper and lower case are the same");

export const browserApi = [
  endpoint({
    name: "readCors",
    method: "GET",
    path: "/sys/config/cors",
    summary: "Read which other origins may call the API",
    access: access.sudo,
    rootOnly: true,
    input: {},
    output: out.object({
      enabled: out.boolean("Whether any other origin may call the API"),
      allowed_origins: out.list(out.string("Origin, or *"), "Origins that may"),
      allowed_headers: out.list(out.string("Name"), "Request headers that they may send"),
      allow_credentials: out.boolean("Whether browsers may send their own credentials along"),
    }),
    handler(browser) {
      const { cors } = browser;
      return {
        enabled: cors !== null,
        allowed_origins: cors?.settings.allowedOrigins ?? [],
        allowed_headers: cors?.headers ?? [],
        allow_credentials: cors?.settings.allowCredentials ?? false,
      };
    },
  }),

  endpoint({
    name: "writeCors",
    method: "POST",
    path: "/sys/config/cors",
    summary: "Let pages of other origins call the API",
    description:
      "Replaces what was set before. Requests from pages of origins that are not named are refused.",
    access: access.sudo,
    belongs: "shared",
    rootOnly: true,
    input: {
      allowedOrigins: wire
        .param("allowed_origins")
        .list("Origins such as https://console.example.com, or * for every origin", { max: 256 }),
      allowedHeaders: wire
        .param("allowed_headers")
        .list("Request headers that may be sent beside the standard ones", {
          max: 64,
          show: fold,
          caseless: true,
        })
        .default([]),
      allowCredentials: wire
        .param("allow_credentials")
        .boolean("Let browsers send their own credentials, such as client certificates, along")
        .default(false),
    },
    output: out.nothing,
    async handler(browser, settings) {
      await browser.setCors(settings);
      return undefined;
    },
  }),

  endpoint({
    name: "deleteCors",
    method: "DELETE",
    path: "/sys/config/cors",
    summary: "Let no other origin call the API",
    access: access.sudo,
    belongs: "shared",
    rootOnly: true,
    input: {},
    output: out.nothing,
    async handler(browser) {
      await browser.deleteCors();
      return undefined;
    },
  }),

  endpoint({
    name: "listConsoleHeaders",
    method: "LIST",
    path: "/sys/config/ui/headers",
    summary: "List the console headers that are set",
    access: access.sudo,
    rootOnly: true,
    input: {},
    output: out.keys("Names of the headers"),
    handler: (browser) => ({ keys: browser.consoleHeaderNames() }),
  }),

  endpoint({
    name: "readConsoleHeader",
    method: "GET",
    path: "/sys/config/ui/headers/:name",
    summary: "Read a console header that is set",
    access: access.sudo,
    rootOnly: true,
    input: { name },
    output: out.object({ values: out.list(out.string("Value"), "Values of the header") }),
    handler: (browser, input) => ({ values: browser.consoleHeader(input.name).values }),
  }),

  endpoint({
    name: "writeConsoleHeader",
    method: "POST",
    path: "/sys/config/ui/headers/:name",
    summary: "Set a header of the console's pages",
    description:
      "It is sent with pages below /ui/ only, and replaces a default header of the same name, such " +
      "as Content-Security-Policy.",
    access: access.sudo,
    belongs: "shared",
    rootOnly: true,
    input: {
      name,
      values: wire.param("values").list("Values; several are joined by commas", { max: 16 }),
    },
    output: out.nothing,
    async handler(browser, input) {
      await browser.setConsoleHeader(input.name, input.values);
      return undefined;
    },
  }),

  endpoint({
    name: "deleteConsoleHeader",
    method: "DELETE",
    path: "/sys/config/ui/headers/:name",
    summary: "Go back to the default of a console header, or to none",
    access: access.sudo,
    belongs: "shared",
    rootOnly: true,
    input: { name },
    output: out.nothing,
    async handler(browser, input) {
      await browser.deleteConsoleHeader(input.name);
      return undefined;
    },
  }),
];
