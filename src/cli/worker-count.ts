import { availableParallelism, totalmem } from 'node:os'
import type { Settings } from '../model/settings.ts'
import type { Environment } from '../sources/file/expand.ts'

/** What `auto` looks at: the machine, and what the pod asked for. */
export interface Room {
  /** Those that the process may use: a CPU limit is in it. */
  readonly cores: number
  /** Bytes that the process and its workers may occupy at most; 0 where there is no limit. */
  readonly limit: number
  readonly environment: Environment
}

const MIB = 1024 * 1024
/** Measured of idle gateways: 94 MiB with two workers, 158 with four, 286 with eight. */
const PARENT = 32 * MIB
const WORKER = 32 * MIB
/** The rest is for traffic; an autoscaler that looks at memory begins here by default. */
const IDLE_SHARE = 0.8

/**
 * One for each core, but no more than the pod asked for: a request of 100m on a node of 16 cores
 * is one, and so many that they stay below 80 % of the memory while they have nothing to do.
 */
export function workerCount(workers: Settings['workers'], room: Room = roomHere()): number {
  if (workers !== 'auto') return workers
  const { cores, limit, environment } = room
  const asked = {
    cores: Math.ceil(numberIn(environment['PORTCULLIS_CPU_REQUEST']) / 1000),
    memory: numberIn(environment['PORTCULLIS_MEMORY_REQUEST']),
  }
  const memory = Math.min(asked.memory, limit > 0 ? limit : Number.POSITIVE_INFINITY)
  const fitting = Math.floor((memory * IDLE_SHARE - PARENT) / WORKER)
  return Math.max(1, Math.min(cores, asked.cores, fitting))
}

function roomHere(): Room {
  const limit = process.constrainedMemory()
  // Some kernels say "no limit" as a number that no machine has.
  const isLimit = limit > 0 && limit < totalmem()
  return {
    cores: availableParallelism(),
    limit: isLimit ? limit : 0,
    environment: process.env,
  }
}

/** Infinite where nothing was asked for: thousandths of a core, or bytes. */
function numberIn(text = ''): number {
  return /^[1-9][0-9]*$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
}
