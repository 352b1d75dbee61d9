#!/usr/bin/env node
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/*
 * The command of the npm package. It runs on Node 20 or later, and starts the program on the Node
 * that the package includes. It must not load other release files: an old Node cannot parse them.
 */
declare const NODE_VERSION: string
declare const NODE_PACKAGES: Readonly<Record<string, { package: string; binary: string }>>

const program = join(dirname(fileURLToPath(import.meta.url)), 'portcullis.mjs')
const platform = `${process.platform}-${process.arch}`

const node =
  ownNode() ?? (majorOf(process.versions.node) >= majorOf(NODE_VERSION) && process.execPath)
if (node === false) {
  const name = NODE_PACKAGES[platform]?.package
  const hint =
    name === undefined
      ? `there is none for ${platform}: install Node ${majorOf(NODE_VERSION)} or later and run it with that`
      : `install the package again without --omit=optional, so that ${name} comes with it`
  process.stderr.write(
    `portcullis: Node ${NODE_VERSION} is not installed, and this is ${process.version}: ${hint}\n`,
  )
  process.exitCode = 1
} else start(node)

function ownNode(): string | undefined {
  const own = NODE_PACKAGES[platform]
  if (own === undefined) return undefined
  try {
    const found = createRequire(import.meta.url).resolve(`${own.package}/package.json`)
    return join(dirname(found), own.binary)
  } catch {
    return undefined
  }
}

function start(executable: string): void {
  const child = spawn(executable, [program, ...process.argv.slice(2)], { stdio: 'inherit' })
  // The terminal signals both processes; this one waits for the program to exit.
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const
  for (const signal of signals) {
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  }
  child.once('error', (error) => {
    process.stderr.write(`portcullis: Node cannot be started: ${error.message}\n`)
    process.exitCode = 1
  })
  child.once('exit', (code, signal) => {
    for (const one of signals) process.removeAllListeners(one)
    if (signal === null) process.exitCode = code ?? 1
    else process.kill(process.pid, signal)
  })
}

function majorOf(version: string): number {
  return Number.parseInt(version, 10)
}
