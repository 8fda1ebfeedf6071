// What a regular expression will cost to compile, told from its text. Counted repetition writes a
// pattern of 10 characters that takes 1,000 instructions, and ranges that ignore case take 7 ms each
// (both measured); compiling first and asking the size afterwards would be too late.

// An escape as one atom, with the name of a class or the number of a character.
const ESCAPE = /\\(?:[pP](?:\{[^}]*\}|.)|x\{[^}]*\}|x[0-9A-Fa-f]{2}|[0-7]{1,3}|.)/suy;
const QUOTED = /\\Q(.*?)(?:\\E|$)/suy;
const REPEATED = /\{([0-9]+)(?:(,)([0-9]*))?\}/y;
const NAMED_CLASS = /\[:\^?[a-z]+:\]/y;

const FOLDED_RANGE = 150;
const FOLDED_PROPERTY = 12;

/** At least the number of instructions, for any pattern that compiles. */
export function patternWeight(pattern: string): number {
  return new Scale(pattern).weigh();
}

class Scale {
  readonly #pattern: string;
  /** Flags may ask for ignoring case anywhere; it is assumed of the whole. */
  readonly #folds: boolean;
  readonly #open: number[] = []; // sums of the groups around
  #at = 0;
  #sum = 0;
  #last = 0; // what a repetition would repeat; part of the sum

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#folds = /\(\?[a-zA-Z]*i/.test(pattern);
  }

  weigh(): number {
    while (this.#at < this.#pattern.length) this.#step();
    return this.#open.reduce((sum, open) => sum + open, this.#sum) + 4;
  }

  #step(): void {
    const character = this.#pattern.charAt(this.#at);
    if (character === "\\") this.#escape();
    else if (character === "[") this.#atom(this.#characterClass());
    else if (character === "{") this.#braces();
    else {
      this.#at += 1;
      if (character === "(") {
        this.#open.push(this.#sum);
        this.#sum = 0;
        this.#last = 0;
      } else if (character === ")") {
        const inner = this.#sum + 3;
        this.#sum = this.#open.pop() ?? 0;
        this.#atom(inner);
      } else if (character === "*" || character === "+" || character === "?") {
        this.#repeat(1, 2);
      } else this.#atom(character === "|" ? 2 : 1);
    }
  }

  #atom(weight: number): void {
    this.#last = weight;
    this.#sum += weight;
  }

  #repeat(times: number, each: number): void {
    const weight = (this.#last + each) * times;
    this.#sum += weight - this.#last;
    this.#last = weight;
  }

  #take(form: RegExp): RegExpExecArray | null {
    form.lastIndex = this.#at;
    const found = form.exec(this.#pattern);
    if (found !== null) this.#at = form.lastIndex;
    return found;
  }

  #escape(): void {
    const quoted = this.#take(QUOTED)?.[1];
    if (quoted !== undefined) {
      this.#sum += quoted.length;
      this.#last = 1;
    } else this.#atom(this.#escapeWeight());
  }

  #escapeWeight(): number {
    const escape = this.#take(ESCAPE)?.[0];
    if (escape === undefined) this.#at += 1;
    return this.#folds && /^\\[pP]/.test(escape ?? "") ? FOLDED_PROPERTY : 1;
  }

  #braces(): void {
    const found = this.#take(REPEATED);
    if (found === null) {
      this.#at += 1;
      this.#atom(1);
      return;
    }
    const [, min = "", comma, max = ""] = found;
    // Copies, and for those that may be missing a branch each.
    const open = comma !== undefined && max === "";
    const times = Number(max === "" ? min : max) + (open ? 1 : 0);
    this.#repeat(Math.max(times, 1), comma === undefined ? 0 : 2);
  }

  #characterClass(): number {
    const pattern = this.#pattern;
    let weight = 1;
    this.#at += pattern.startsWith("[^", this.#at) ? 2 : 1;
    const first = this.#at; // a bracket that closes nothing yet is a character
    while (this.#at < pattern.length) {
      const character = pattern.charAt(this.#at);
      if (character === "]" && this.#at > first) {
        this.#at += 1;
        return weight;
      }
      if (character === "\\") weight += this.#escapeWeight() - 1;
      else if (this.#take(NAMED_CLASS) === null) {
        if (character === "-" && this.#folds && !this.#isAsciiRange()) weight += FOLDED_RANGE;
        this.#at += 1;
      }
    }
    return weight;
  }

  #isAsciiRange(): boolean {
    const ends = this.#pattern.charAt(this.#at - 1) + this.#pattern.charAt(this.#at + 1);
    return /^[0-9A-Za-z]{2}$/.test(ends);
  }
}
