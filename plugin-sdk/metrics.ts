// What engines count, for those who watch the server. The type declares each number with the words that its
// labels may hold; whatever else comes counts as "other", so that no caller's word becomes a label.

/** Values by the name of the label. */
export type LabelWords = Readonly<Record<string, readonly string[]>>;

export type MetricDeclaration =
  | { readonly kind: "counter"; readonly help: string; readonly labels?: LabelWords }
  | {
      readonly kind: "histogram";
      readonly help: string;
      readonly labels?: LabelWords;
      /** Upper bounds, ascending. Default: from a quarter of a millisecond to ten seconds. */
      readonly buckets?: readonly number[];
    }
  /** How long ago something was, for each mount. */
  | { readonly kind: "age"; readonly help: string };

/** By name: "cloud_call_seconds" is shown as holdfast_cloud_call_seconds. Types that declare the same one
 *  count together, told apart by the label `mount_type`, which every counter and histogram has. */
export type MetricDeclarations = Readonly<Record<string, MetricDeclaration>>;

/** Nothing is counted under a name that the type has not declared. */
export interface EngineMetrics {
  count(name: string, labels?: Readonly<Record<string, string>>): void;
  observe(name: string, value: number, labels?: Readonly<Record<string, string>>): void;
  /** When it was, in seconds since 1970; null: it is not known, and not shown. */
  since(name: string, at: number | null): void;
}
