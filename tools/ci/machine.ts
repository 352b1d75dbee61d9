import { spawnSync } from 'node:child_process'
import { networkInterfaces } from 'node:os'

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

function isInPath(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0
}
