#!/usr/bin/env node
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeImage } from '../../tools/image/oci.ts'

/** The container that holds a pod's network namespace: it waits until it gets a signal. */
const SOURCE = `#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int signal) { (void)signal; _exit(0); }
static void reap(int signal) { (void)signal; while (waitpid(-1, 0, WNOHANG) > 0); }
int main(void) {
  signal(SIGINT, end);
  signal(SIGTERM, end);
  signal(SIGCHLD, reap);
  for (;;) pause();
}
`

const [archive = '', name = 'localhost/pause:1'] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'portcullis-pause-'))
const [source, program] = [join(folder, 'pause.c'), join(folder, 'pause')]
writeFileSync(source, SOURCE)
const { status, stderr } = spawnSync('cc', ['-static', '-Os', '-s', '-o', program, source], {
  encoding: 'utf8',
})
if (status !== 0) throw new Error(`pause cannot be compiled: ${stderr}`)
const image = writeImage({
  name,
  labels: {},
  entrypoint: ['/pause'],
  command: [],
  environment: {},
  user: '65535:65535',
  ports: [],
  layers: [[{ kind: 'file', path: 'pause', bytes: readFileSync(program), mode: 0o755 }]],
})
writeFileSync(archive, image)
rmSync(folder, { recursive: true })
