// Files that were opened and that nobody gets, since something went wrong before they could be handed on.

/** Closes it where the work fails: a file that is collected while it is open ends the process. */
export async function orClosed<T>(
  file: { close(): Promise<void> },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await file.close().catch(() => {}); // what went wrong first is told
    throw error;
  }
}
