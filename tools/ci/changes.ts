import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { lastPassed } from '../../test/night/ledger.ts'

/** What is known of earlier runs. */
export interface History {
  /**
   * Why a suite need not run: nothing below `paths` changed since the last night in which it passed
   * whole. Undefined if there was no such night, or if its commit is unknown here.
   */
  readonly unchangedSince: (suite: string, paths: readonly string[]) => string | undefined
}

export const historyOfTree: History = {
  unchangedSince(suite, paths) {
    const night = lastPassed(suite)
    if (night === undefined) return undefined
    const { status } = spawnSync('git', ['diff', '--quiet', night.commit, '--', ...paths])
    return status === 0 ? `unchanged since it passed at ${night.commit.slice(0, 8)}` : undefined
  },
}

/** The line of a landing in bench/RESULTS.md: `| 2026-01-02 | 0123abcd | …`. */
const LANDING = /^\| \d{4}-\d\d-\d\d +\| +([0-9a-f]{8,40}) \|/gm

/** The commit since which changes are judged: CI_BASE, or that of the last recorded landing. */
export function baseOfChange(): string {
  const { CI_BASE: base } = process.env
  if (base !== undefined && base !== '') return base
  const results = readFileSync('bench/RESULTS.md', 'utf8')
  const landing = [...results.matchAll(LANDING)].at(-1)?.[1]
  const isKnown = landing !== undefined && git('cat-file', '-e', `${landing}^{commit}`).ok
  return isKnown ? landing : 'HEAD~1'
}

export interface Tree {
  readonly commit: string
  readonly tree: string
  /** With changes that are in no commit. */
  readonly isDirty: boolean
}

export function treeOf(): Tree {
  return {
    commit: git('rev-parse', 'HEAD').text,
    tree: git('rev-parse', 'HEAD^{tree}').text,
    isDirty: git('status', '--porcelain').text !== '',
  }
}

function git(...args: readonly string[]): { ok: boolean; text: string } {
  const { status, stdout } = spawnSync('git', args, { encoding: 'utf8' })
  return { ok: status === 0, text: (stdout ?? '').trim() }
}
