import {
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { readSources } from '../../test/architecture/read-sources.ts'
import type { SourceFile } from '../../test/architecture/rule.ts'
import { type Comparison, changedLines, comparisonOf, type Lines } from './changed-lines.ts'
import { drawMutants } from './draw.ts'
import { Equivalents, equivalentOf } from './equivalents.ts'
import type { Mutant, MutantPlace } from './mutant.ts'
import type { Options } from './options.ts'
import { placesIn } from './places.ts'
import { readResults } from './results.ts'
import { writeSwitches } from './switches.ts'
import { copyTree } from './tree.ts'

export interface Plan {
  readonly mutants: readonly Mutant[]
  /** A copy of the repository that has all mutants, each behind a switch. */
  readonly tree: string
  /** A copy without mutants. */
  readonly plainTree: string
}

const NOT_PRODUCT = /\.test\.ts$|\.d\.ts$|\/(?:generated|fixtures|testdata)\//

/** Draws mutants and writes their tree into `out`, or continues with what is there. */
export function preparePlan(root: string, out: string, options: Options): Plan {
  const tree = join(out, 'tree')
  const plainTree = join(out, 'plain')
  const file = join(out, 'mutants.json')
  if (options.resumes && existsSync(file)) {
    return { mutants: JSON.parse(readFileSync(file, 'utf8')) as readonly Mutant[], tree, plainTree }
  }
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  const comparison = options.changed === undefined ? undefined : comparisonOf(root, options.changed)
  copyTree(root, plainTree, comparison?.revision)
  const copying = { recursive: true, verbatimSymlinks: true, mode: constants.COPYFILE_FICLONE }
  cpSync(plainTree, tree, copying)
  const sources = readSources(plainTree).filter(
    ({ path }) => /^src\/.*\.ts$/.test(path) && !NOT_PRODUCT.test(path),
  )
  const places =
    comparison === undefined ? sources.flatMap(placesIn) : changedPlaces(root, sources, comparison)
  const survivors = options.again === undefined ? undefined : survivorsOf(root, options.again)
  const rooms = new Set(options.rooms)
  const chosen = places.filter(
    (place) =>
      (rooms.size === 0 || rooms.has(place.room)) &&
      (survivors === undefined || survivors.has(place)),
  )
  const mutants = drawMutants(chosen, options.count, options.seed)
  for (const { path, text } of sources) {
    const inside = mutants.filter((mutant) => mutant.file === path)
    if (inside.length > 0) writeFileSync(join(tree, path), writeSwitches(text, inside))
  }
  writeFileSync(file, JSON.stringify(mutants))
  return { mutants, tree, plainTree }
}

/** By their text, since the source may have changed since then. */
function survivorsOf(root: string, again: string): Equivalents {
  const results = readResults(resolve(root, again))
  const survivors = results.filter(
    ({ outcome }) => outcome === 'survived' || outcome === 'unreached',
  )
  return new Equivalents(survivors.map((survivor) => equivalentOf(survivor)))
}

function changedPlaces(
  root: string,
  sources: readonly SourceFile[],
  comparison: Comparison,
): readonly MutantPlace[] {
  const lines = changedLines(root, comparison)
  return sources
    .filter(({ path }) => lines.has(path))
    .flatMap(placesIn)
    .filter((place) => isChanged(place, lines))
}

/** One of its lines is. */
function isChanged({ file, line, original }: MutantPlace, lines: Lines): boolean {
  const last = line + original.split('\n').length - 1
  for (let at = line; at <= last; at++) if (lines.get(file)?.has(at) === true) return true
  return false
}
