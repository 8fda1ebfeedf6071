// The room of what is carried: rows that go along when a snapshot of other keys takes the place of the data.

import type { RoomPlan } from "../house/room.ts";
import { Carried, type CarriedOptions } from "./carried.ts";

export type CarriedNeeds = CarriedOptions;

export interface CarriedParts {
  readonly carried: Carried;
}

export const carriedRoom: RoomPlan<CarriedNeeds, CarriedParts> = {
  name: "carried",
  declares: [],
  build: (needs) => {
    const carried = new Carried({ ...needs, log: needs.log.child("carried") });
    return {
      carried,
      lead: () => carried.takeIn(), // before anybody signs, and before audit devices open
    };
  },
};
