import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WITHOUT_BROWSER } from '../test/browser/launch.ts'
import { buildUi } from '../tools/ui/build-ui.ts'
import type { Report } from './report.ts'
import { measurePaints, type Paint } from './ui/first-paint.ts'
import { measureMemory } from './ui/memory.ts'

const FIRST_PAGE = 300_000
const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 5)

/** Bytes that a browser loads for each page of the Admin UI, compressed with gzip. */
export async function ui(): Promise<Report> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-ui-bench-'))
  try {
    await buildUi(folder)
    const assets = join(folder, 'assets')
    const names = readdirSync(assets).filter((name) => /\.(?:js|css)$/.test(name))
    const sizeOf = (name: string) => statSync(join(assets, `${name}.gz`)).size
    const textOf = (name: string) => readFileSync(join(assets, name), 'utf8')
    const page = readFileSync(join(folder, 'index.html'), 'utf8')
    const shell = names.filter((name) => page.includes(name))
    const sum = (all: Iterable<string>) => [...all].reduce((size, name) => size + sizeOf(name), 0)
    const loadedBy = (first: string) => {
      const all = new Set([first])
      for (const name of all) {
        // Follows imports, except the shell's: it names every page but loads none of them itself.
        if (shell.includes(name)) continue
        for (const other of names) if (textOf(name).includes(other)) all.add(other)
      }
      return all
    }
    const pages = names.filter((name) => PAGE.test(name))
    const first = new Set([...shell, ...loadedBy(pages.find((one) => /^overview/.test(one)) ?? '')])
    const paints = WITHOUT_BROWSER === false ? await paintRows() : []
    const memory = WITHOUT_BROWSER === false ? await measureMemory() : undefined
    return {
      intro: [
        'Bytes of scripts and styles by gzip -9; pages beyond what the shell has. Paints are of a new',
        `Chromium that has nothing cached, medians of ${ROUNDS}: throttled to 1.6 Mbit/s, 150 ms and a`,
        'quarter of the CPU, and as it is.',
      ],
      targets: [
        {
          what: 'the first page, with its chart',
          wanted: `< ${kilobytes(FIRST_PAGE)}`,
          measured: kilobytes(sum(first)),
          met: sum(first) < FIRST_PAGE,
        },
        ...(memory === undefined
          ? []
          : [
              {
                what: 'memory of a gateway with 5,000 routes a minute after every page was opened, to that before',
                wanted: '≤ 1.3',
                measured: (memory.later / memory.idle).toFixed(2),
                met: memory.later <= 1.3 * memory.idle,
              },
            ]),
      ],
      tables: [
        {
          title: 'Pages',
          columns: ['page', 'bytes'],
          rows: [
            ['shell', kilobytes(sum(shell))],
            ...pages.map((name) => [
              name.split('-')[0] ?? '',
              kilobytes(sum([...loadedBy(name)].filter((one) => !shell.includes(one)))),
            ]),
          ],
        },
        {
          title: 'First paint',
          columns: ['profile', 'first paint', 'all of it read'],
          rows: paints,
        },
        {
          title: 'Memory of a gateway with 5,000 routes',
          columns: ['before', 'most while every page is opened', 'a minute later'],
          rows: memory === undefined ? [] : [MOMENTS.map((at) => `${memory[at]} MB`)],
        },
      ],
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function paintRows(): Promise<readonly (readonly string[])[]> {
  const median = (all: readonly Paint[], of: keyof Paint) =>
    all.map((one) => one[of]).toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN
  const rowOf = async (profile: string, isThrottled: boolean) => {
    const paints = await measurePaints(ROUNDS, isThrottled)
    const [first, complete] = [median(paints, 'first'), median(paints, 'complete')]
    return [profile, `${first.toFixed(0)} ms`, `${complete.toFixed(0)} ms`]
  }
  return [await rowOf('throttled', true), await rowOf('as it is', false)]
}

const MOMENTS = ['idle', 'most', 'later'] as const

const PAGE =
  /^(?:overview|map|decisions|policies|sandbox|backends|llm|mcp|history|config|settings)-[\w-]+\.js$/

function kilobytes(bytes: number): string {
  return `${Math.round(bytes / 1000)} kB`
}
