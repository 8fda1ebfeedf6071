// The part of the room of replication that knows operation tokens and tickets, to be put into that room.

import { declares } from "../../house/room.ts";
import { operationsApi } from "./api-operations.ts";
import { Operations, type OperationsNeeds } from "./operations.ts";

export interface OperationsParts {
  /** What the pipeline asks on a disaster-recovery secondary. */
  readonly operations: Operations;
}

export const operationsDeclared = [
  declares(
    "src/replication/operations/api-operations.ts",
    operationsApi,
    ({ operations }: OperationsParts) => operations,
  ),
];

export function operationsParts(needs: OperationsNeeds): OperationsParts {
  return { operations: new Operations(needs) };
}
