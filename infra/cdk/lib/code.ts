import { spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { AssetHashType, type BundlingOptions, DockerImage } from 'aws-cdk-lib';
import { Asset } from 'aws-cdk-lib/aws-s3-assets';
import type { Construct } from 'constructs';
import type { OutboxCode } from './props';
import { refusal } from './validate';

export const FUNCTIONS = ['relay', 'purge', 'admin'] as const;
export type FunctionName = (typeof FUNCTIONS)[number];
export type Architecture = 'arm64' | 'x86_64';

/** The code of a function as an asset: its zip, or what cargo-lambda makes of the source. */
export function asset(scope: Construct, name: FunctionName, code: OutboxCode, architecture: Architecture): Asset {
  return 'zips' in code
    ? new Asset(scope, 'Code', { path: zip(name, code.zips, architecture) })
    : built(scope, name, code.source, architecture);
}

function zip(name: FunctionName, zips: string | Record<FunctionName, string>, architecture: Architecture): string {
  const candidates = typeof zips === 'string' ? layouts(name, architecture).map((file) => path.join(zips, file)) : [zips[name]];
  const found = candidates.find((file) => fs.existsSync(file));
  if (!found) {
    const value = typeof zips === 'string' ? zips : zips[name];
    const advice = `one of ${candidates.join(', ')}, as make package writes them`;
    throw refusal(`code.zips (${name}, ${architecture})`, value, advice, "{ zips: 'target/package' }");
  }
  return path.resolve(found);
}

/** Where a zip may lie in its folder. The first that is there counts; the later ones do not tell their architecture. */
function layouts(name: FunctionName, architecture: Architecture): string[] {
  const spellings = architecture === 'arm64' ? ['arm64'] : ['x86_64', 'x86-64'];
  return [...spellings.map((arch) => `${name}-${arch}.zip`), `${name}.zip`, path.join(name, 'bootstrap.zip')];
}

/**
 * Built on this machine at each synthesis that needs it, which cargo makes short where nothing has changed. The hash is of
 * the program, not of the source, so that a function is deployed anew only if it differs.
 */
function built(scope: Construct, name: FunctionName, source: string, architecture: Architecture): Asset {
  const bundling: BundlingOptions = {
    image: DockerImage.fromRegistry('scratch'), // Asked for by the type; the local build never leaves it to Docker.
    local: { tryBundle: (folder) => build(name, source, architecture, folder) },
  };
  if (!fs.existsSync(path.join(source, 'functions', name, 'Cargo.toml'))) {
    throw refusal('code.source', source, `a checkout with functions/${name}/Cargo.toml`, "{ source: '../outbox-relay' }");
  }
  // The hash does not look at the path, and the manifest is less to copy than the checkout.
  const manifest = path.join(source, 'functions', name);
  return new Asset(scope, 'Code', { path: manifest, assetHashType: AssetHashType.OUTPUT, bundling });
}

/** Each package by itself: built together, they would share the features of each other's dependencies. */
function build(name: FunctionName, source: string, architecture: Architecture, folder: string): true {
  const compiler = architecture === 'arm64' ? '--arm64' : '--x86-64';
  const args = ['lambda', 'build', '--profile', 'lambda', compiler, '--package', name];
  const run = spawnSync('cargo', [...args, '--lambda-dir', folder, '--flatten', name], {
    cwd: source,
    // What cargo prints belongs to standard error: the CDK writes templates to standard output.
    stdio: ['ignore', process.stderr, 'inherit'],
  });
  if (run.status === 0 && fs.existsSync(path.join(folder, 'bootstrap'))) return true;
  if (spawnSync('cargo', ['lambda', '--version']).status !== 0) {
    const advice = 'a checkout, on a machine with cargo-lambda (pip install cargo-lambda) and the target of the architecture';
    throw refusal('code.source', source, advice, "{ zips: 'target/package' }, which needs no Rust");
  }
  throw new Error(`OutboxRelay: cargo ${args.join(' ')} failed in ${source}; what it said is above`);
}
