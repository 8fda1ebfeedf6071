// One thing at a time: initialising, unsealing, sealing and every ceremony read state, wait for PGP
// or storage, and change state. Nothing of the kind may come in between.

export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Runs `work` after all that came before it, whatever became of that. It must not take a turn. */
  run<T>(work: () => Promise<T> | T): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }
}
