// "Did you mean": the known word closest to one that is not known.

/** Null when nothing is close: a far-fetched guess is worse than none. */
export function nearest(word: string, known: readonly string[]): string | null {
  if (word.length > 64) return null;
  const max = Math.max(1, Math.floor(word.length / 3));
  let best: { word: string; distance: number } | null = null;
  for (const candidate of known) {
    const distance = distanceOf(word.toLowerCase(), candidate, max);
    if (distance <= max && (best === null || distance < best.distance)) {
      best = { word: candidate, distance };
    }
  }
  return best?.word ?? null;
}

/** Letters to insert, remove, replace, or swap with a neighbour; anything above `max` is just more. */
function distanceOf(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  let before: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same = a[i - 1] === b[j - 1];
      let min = Math.min(
        (above[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (above[j - 1] ?? 0) + (same ? 0 : 1),
      );
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        min = Math.min(min, (before[j - 2] ?? 0) + 1);
      }
      row.push(min);
    }
    [before, above] = [above, row];
  }
  return above[b.length] ?? max + 1;
}
