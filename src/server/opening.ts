// Rooms that have something to load when the node unseals and something to let go of before it seals.
// They open in order and close in the opposite one; when one cannot open, those before it close again.

export interface Room {
  open(): void | Promise<void>;
  close?(): void | Promise<void>;
}

export class Opening {
  readonly #rooms: readonly Room[];

  constructor(rooms: readonly Room[]) {
    this.#rooms = rooms;
  }

  async open(): Promise<void> {
    for (const [at, room] of this.#rooms.entries()) {
      try {
        await room.open();
      } catch (error) {
        await closeAll(this.#rooms.slice(0, at)).catch(() => {}); // the first cause is the one to tell
        throw error;
      }
    }
  }

  close(): Promise<void> {
    return closeAll(this.#rooms);
  }
}

/** Every one of them, whatever the others say; the first trouble is told. */
async function closeAll(rooms: readonly Room[]): Promise<void> {
  const troubles: unknown[] = [];
  for (const room of rooms.toReversed()) {
    try {
      await room.close?.();
    } catch (error) {
      troubles.push(error);
    }
  }
  if (troubles.length > 0) throw troubles[0];
}
