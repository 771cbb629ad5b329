// The request of this page as a line for a POSIX shell.

/** `address` has the options; the key stays out of it, as it should stay out of a shell's history. */
export function curlLine(files, address, { withKey }) {
  const parts = ["curl"];
  if (withKey) parts.push('-H "Authorization: Bearer $GATEWAY_API_KEY"');
  if (files.length === 1) parts.push(`--data-binary ${quoted(`@${pathOf(files[0].name)}`)}`);
  else parts.push(...files.map((file) => `-F ${quoted(`file=@${formPath(pathOf(file.name))}`)}`));
  parts.push(quoted(address));
  return parts.join(" ");
}

/** curl reads "@-" as its standard input. */
const pathOf = (name) => (name.startsWith("-") ? `./${name}` : name);

/** In a form, curl ends a name at "," and ";" unless it is in double quotes. */
const formPath = (path) => (/[,;"\\]/.test(path) ? `"${path.replace(/["\\]/g, "\\$&")}"` : path);

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
