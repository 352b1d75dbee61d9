import { spawnSync } from 'node:child_process'
import { cpus, networkInterfaces } from 'node:os'

/** What decides which suites can run here. */
export interface Machine {
  readonly isLinuxX64: boolean
  readonly isRoot: boolean
  readonly hasIpv6: boolean
  readonly has: (program: string) => boolean
}

export function thisMachine(): Machine {
  const programs = new Map<string, boolean>()
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return {
    isLinuxX64: process.platform === 'linux' && process.arch === 'x64',
    isRoot: process.getuid?.() === 0,
    hasIpv6: addresses.some(({ address }) => address === '::1'),
    has: (program) => {
      const isThere = programs.get(program) ?? isInPath(program)
      programs.set(program, isThere)
      return isThere
    },
  }
}

/** Returns the share of the time since then that the cores of this machine were idle. */
export function watchIdleTime(): () => number {
  const before = coreTimes()
  return () => {
    const now = coreTimes()
    return (now.idle - before.idle) / Math.max(1, now.all - before.all)
  }
}

function coreTimes(): { readonly idle: number; readonly all: number } {
  let [idle, all] = [0, 0]
  for (const { times } of cpus()) {
    idle += times.idle
    all += times.user + times.nice + times.sys + times.idle + times.irq
  }
  return { idle, all }
}

function isInPath(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}
