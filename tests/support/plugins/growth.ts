// How much memory something takes that this process does not give back at once.

/** The most that this process, which is the server, has had more in the meantime. */
export async function growthOf(work: () => Promise<void>): Promise<number> {
  const before = process.memoryUsage().rss;
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 5);
  try {
    await work();
  } finally {
    clearInterval(watching);
  }
  return most - before;
}
