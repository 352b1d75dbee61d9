import { availableParallelism, totalmem } from 'node:os'
import type { Settings } from '../model/settings.ts'
import type { Environment } from '../sources/file/expand.ts'

/** The input of `auto`: the machine, and the resource requests of the pod. */
export interface Room {
  /** The cores that the process may use, including a CPU limit. */
  readonly cores: number
  /** The memory limit of the process and its workers in bytes; 0 if there is none. */
  readonly limit: number
  readonly environment: Environment
}

const MIB = 1024 * 1024
/** Measured on idle gateways, what is not shared with other processes. */
const PARENT = 42 * MIB
const WORKER = 54 * MIB
/** The rest is for traffic; autoscalers that watch memory scale at this share by default. */
const IDLE_SHARE = 0.8

/**
 * One worker per core, but no more than the pod requests (a request of 100m on a node with 16 cores
 * means one), and no more than fit into 80 % of the memory while idle.
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
  // Some kernels report "no limit" as a number that no machine has.
  const isLimit = limit > 0 && limit < totalmem()
  return {
    cores: availableParallelism(),
    limit: isLimit ? limit : 0,
    environment: process.env,
  }
}

/** Parses a request in thousandths of a core or in bytes; infinite if there is none. */
function numberIn(text = ''): number {
  return /^[1-9][0-9]*$/.test(text) ? Number(text) : Number.POSITIVE_INFINITY
}
