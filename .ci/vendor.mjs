#!/usr/bin/env node
// Copies the browser libraries of the viewer from their npm packages, at the
// versions in manifest.json beside them, and records size and digest of each file.
// To update a library, change its version there, run this, and commit the result.
// Large files are stored compressed, because the binary embeds them.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const vendor = join(dirname(fileURLToPath(import.meta.url)), '../cmd/internal/web/assets/vendor');
const manifest = JSON.parse(readFileSync(join(vendor, 'manifest.json')));
const temp = mkdtempSync(join(tmpdir(), 'handoff-vendor-'));
const run = (cmd, ...args) => execFileSync(cmd, args, { cwd: temp, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
let licences = '';
try {
	for (const lib of manifest.libraries) {
		const [{ filename }] = JSON.parse(run('npm', 'pack', '--json', '--loglevel=error', `${lib.name}@${lib.version}`));
		run('tar', 'xzf', filename);
		const read = (file) => readFileSync(join(temp, 'package', file));
		lib.licence = JSON.parse(read('package.json')).license;
		for (const file of lib.files) {
			let content = read(file.source);
			// The maps are not copied, so a browser must not ask for them.
			content = Buffer.from(content.toString().replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n'));
			if (file.file.endsWith('.gz')) {
				content = gzipSync(content, { level: 9, memLevel: 9 });
			}
			writeFileSync(join(vendor, file.file), content);
			file.bytes = content.length;
			file.sha256 = createHash('sha256').update(content).digest('hex');
		}
		const text = ['LICENSE', 'LICENSE.md', 'LICENSE.txt'].find((name) => existsSync(join(temp, 'package', name)));
		licences += `${lib.name} ${lib.version} (${lib.licence})\n\n${text ? read(text).toString().trim() : 'The package contains no licence text.'}\n\n`;
		run('rm', '-rf', 'package', filename);
	}
} finally {
	rmSync(temp, { recursive: true });
}
writeFileSync(join(vendor, 'licences.txt'), licences);
writeFileSync(join(vendor, 'manifest.json'), JSON.stringify(manifest, null, 2) + '\n');
