// A number with its noun, as people read it: "1 second", "2 seconds".

export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${BigInt(count) === 1n ? one : many}`;
}
