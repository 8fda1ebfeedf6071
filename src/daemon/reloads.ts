// One reload at a time. What asks meanwhile, once or often, gets one more after it: the files may have
// changed since they were read.

export class Reloads {
  readonly #reload: () => Promise<void>;
  #running: Promise<void> | null = null;
  #next: Promise<void> | null = null;

  constructor(reload: () => Promise<void>) {
    this.#reload = reload;
  }

  /** Settles with a reload that began after the call. */
  run(): Promise<void> {
    if (this.#running === null) return this.#start();
    this.#next ??= this.#running.catch(() => {}).then(() => this.#start());
    return this.#next;
  }

  #start(): Promise<void> {
    this.#next = null;
    this.#running = this.#reload().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }
}
